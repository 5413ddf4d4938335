// Headers that most tests include. They are precompiled once for each program that tests/meson.build chooses.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
