import tensorflow as tf


def train_step(variables, optimizer, tape, loss, most, write, step):
    gradients = tape.gradient(loss, variables)
    for place, gradient in enumerate(gradients):
        write(f"raw/{place}", gradient, step=step)
    gradients, _ = tf.clip_by_global_norm(gradients, most)
    for place, gradient in enumerate(gradients):
        write(f"clipped/{place}", gradient, step=step)
    optimizer.apply_gradients(zip(gradients, variables))


if __name__ == "__main__":
    weights = tf.Variable([1.0, 2.0, 3.0])
    with tf.summary.create_file_writer("runs").as_default():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weights**2)
        train_step([weights], tf.keras.optimizers.SGD(0.1), tape, loss, 0.5, tf.summary.histogram, 0)
