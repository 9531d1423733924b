"""Names a module that is not there."""
import nothing_of_this_name.inside
