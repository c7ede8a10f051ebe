/* Part of the prelude, which every program has already included. */
#pragma once
