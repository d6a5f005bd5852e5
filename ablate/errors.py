"""The one exception that means: the user asked for something that cannot be done."""


class UserError(Exception):
    """A mistake in a config, a path or a corpus, told in one or two lines; exit code 2.

    The message names the key, the value, what is allowed and, for a misspelling, the nearest valid
    name. It is shown without a traceback.
    """
