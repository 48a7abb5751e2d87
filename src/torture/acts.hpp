// The acts of the torture, and what they share.
#pragma once

#include "torture/pack.hpp"
#include "torture/torture.hpp"

namespace postroom::torture {

Act queue_act(const Plan& plan);
Act redelivery_act(const Plan& plan);
Act dispatch_act(const Plan& plan);

// An act's share of the time.
Duration act_duration(const Plan& plan);

// Calls `tick` for that long.
void torment(const Plan& plan, const std::function<void()>& tick);

// Kills one of `workers`. Throws WorkerEnded when it had ended by itself.
void kill_one(Pack& workers);

// A new folder in that of the plan.
std::filesystem::path folder_of(const Plan& plan, const std::string& act);

// How long recovery may take before what is left counts as stuck.
Duration recovery_patience(const Plan& plan);

// Runs `work` in a process. False: it did not end well within that time.
bool finishes(const Plan& plan, const std::function<int()>& work);

}  // namespace postroom::torture
