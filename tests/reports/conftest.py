"""A daemon per test, in this process."""

from tests.service.conftest import folder as folder
from tests.service.conftest import host as host
