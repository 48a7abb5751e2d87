// The settings of the program, as data: what the reference page, `config check` and the loader
// know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/sink.hpp"

namespace postroom::cli {

// SinkSetting::name is the whole key here; a '*' in it stands for a name that the user gives.
using Setting = SinkSetting;

// Of everything but the sinks' own, which sink_types() knows.
const std::vector<Setting>& program_settings();

// The setting that `key` belongs to; nothing when it is unknown. `sink_type` is the type of the
// sink that `key` is about, empty when it is not known.
std::optional<Setting> find_setting(const std::string& key, const std::string& sink_type);

// Known keys as somebody could have meant them who wrote `key`, for a hint.
std::vector<std::string> candidate_keys(const std::string& key, const std::string& sink_type);

std::vector<std::string> split_key(std::string_view key);

// What is wrong with `text` as a value of `setting`; empty when it is right.
std::string fault_of(const Setting& setting, const std::string& text);

// `text` as it may be shown.
std::string shown_value(const Setting& setting, const std::string& text);

// A URL without user, password and parameters. Rather masks too much than too little: a password
// with unescaped characters in it must not show either.
std::string mask_url(std::string_view url);
// True when `url` holds a password or parameters that may be one.
bool has_secret(std::string_view url);

}  // namespace postroom::cli
