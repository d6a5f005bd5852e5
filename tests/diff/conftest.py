"""Made-up records, as the report's tests have them."""

from tests.report.conftest import add_run, outputs

__all__ = ["add_run", "outputs"]
