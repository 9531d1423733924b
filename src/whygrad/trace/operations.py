"""The names that operations go by in a trace, whatever framework and spelling they were written in.

The vocabulary is closed: what no translation knows is `opaque`. What the user wrote is kept beside the name, for
messages. Questions that only one rule asks stand in its own file, in these words.
"""

from __future__ import annotations

OPAQUE = "opaque"

SUMS = frozenset({"add", "sub", "rsub"})
"""`rsub` is a number minus a tensor; of two tensors it is `sub`, the other way round."""
DIFFERENCES = frozenset({"sub", "rsub"})
PRODUCTS = frozenset({"mul"})
DIVISIONS = frozenset({"div"})
SCALINGS = PRODUCTS | DIVISIONS
NEGATING = frozenset({"neg"})
JOINS = frozenset({"stack", "cat"})
CONTRACTIONS = frozenset({"dot", "matmul", "einsum"})
SHAPING = frozenset(
    """reshape squeeze unsqueeze clone to expand permute select index_select flip neg clamp nan_to_num unbind split
    repeat repeat_interleave roll store""".split()
)
"""What leaves values what they are, or nearly so; `store` writes into a buffer."""
CHOOSING = frozenset({"where", "masked_fill", "minimum", "maximum"})
EXTREMES = frozenset({"amin", "amax", "minimum", "maximum", "where"})
AVERAGES = frozenset({"mean", "nanmean"})
REDUCTIONS = AVERAGES | {"sum", "nansum", "prod", "norm", "std", "var", "logsumexp", "amin", "amax", "count_nonzero"}

LOSSES = frozenset(
    """mse_loss smooth_l1_loss huber_loss l1_loss cross_entropy nll_loss kl_div binary_cross_entropy
    binary_cross_entropy_with_logits gaussian_nll_loss""".split()
)
LOGS = frozenset(
    """log_softmax log log1p logsumexp logsigmoid lgamma cross_entropy nll_loss xlogy binary_cross_entropy
    binary_cross_entropy_with_logits gaussian_nll_loss kl_div""".split()
)
PROBABILITIES = frozenset({"softmax", "sigmoid", "gumbel_softmax"})
NORMALISING = frozenset({"softmax", "log_softmax", "cross_entropy", "logsumexp", "gumbel_softmax"})
"""What takes logits and makes a distribution of them."""

RANDOM = frozenset({"random", "bernoulli", "multinomial", "poisson"})
"""Draws; `random` is any of a continuous distribution, or of whole numbers."""
MADE_UP = frozenset({"constant", "fill"})
"""Tensors of numbers that stand in the source: `zeros`, `arange`, `full`. They say nothing about a batch."""
RECTIFIERS = frozenset({"relu", "threshold"})
SQUASHERS = frozenset({"tanh", "sigmoid"})
LAYERS = frozenset(
    """linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d embedding
    embedding_bag gru lstm rnn_tanh rnn_relu gru_cell lstm_cell rnn_tanh_cell rnn_relu_cell rnn layer_norm batch_norm
    group_norm rms_norm instance_norm multi_head_attention_forward matmul addmm einsum prelu bias_add
    scaled_dot_product_attention transformer_encoder_layer vmap compiled""".split()
)

NAMES = (
    SUMS | SCALINGS | NEGATING | JOINS | CONTRACTIONS | SHAPING | CHOOSING | EXTREMES | REDUCTIONS | LOSSES | LOGS
    | PROBABILITIES | NORMALISING | RANDOM | MADE_UP | RECTIFIERS | SQUASHERS | LAYERS
    | frozenset(
        """abs pow rpow sqrt rsqrt reciprocal exp expm1 logit atanh acos asin acosh tan sinh cosh digamma softplus
        leaky_relu elu selu celu gelu silu mish tanhshrink softsign lerp addcmul addcdiv cumsum cumprod std_mean
        var_mean gather take masked_select unfold broadcast_tensors diagonal diag_embed trace triu tril
        scatter_add masked_scatter dropout alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d max_pool1d
        max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d normalize cosine_similarity interpolate pad
        log_prob binomial argmax argmin multinomial one_hot sign round floor ceil trunc floor_divide sort topk
        searchsorted bucketize cast mapped compare copy leave flag detach data input parameter grad read number
        gradient assign random_permutation""".split()
    )
)  # fmt: skip
