#pragma once
inline int helper_value() {
    return 42;
}
