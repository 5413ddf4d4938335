// What the tests share, read once for each program: meson.build says for which.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
