import type { AgentAccess } from './contract/agent-form.ts';
import type { Module } from './contract/module.ts';

export type AgentModule = Module & { readonly agent: AgentAccess };

/** Modules that agents can request, in the order of their forms. */
export function agentModules(modules: readonly Module[]): readonly AgentModule[] {
  return modules
    .filter((module): module is AgentModule => module.agent !== undefined)
    .sort((a, b) => a.agent.form.order - b.agent.form.order);
}
