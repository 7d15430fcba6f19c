import type { AgentAccess, AgentForm } from './contract/agent-form.ts';
import type { Module } from './contract/module.ts';

export type AgentModule = Module & { readonly agent: AgentAccess };

/** Modules that agents can request, in the order of their forms. */
export function agentModules(modules: readonly Module[]): readonly AgentModule[] {
  return modules
    .filter((module): module is AgentModule => module.agent !== undefined)
    .sort((a, b) => a.agent.form.order - b.agent.form.order);
}

/** For display, such as "login at https://idp.example.com". */
export function summaryOf(
  { summary, bare }: Pick<AgentForm, 'summary' | 'bare'>,
  config: Readonly<Record<string, unknown>> | undefined,
): readonly string[] {
  if (config === undefined) return [];
  if (bare !== undefined && Object.keys(config).length === 0) return [bare.summary];
  return summary.flatMap((template) => {
    let isWhole = true;
    const text = template.replaceAll(/\{(\w+)\}/g, (_braces, name: string) => {
      const value = config[name];
      const shown = Array.isArray(value) ? value.join(', ') : String((value ?? '') as string | number | boolean);
      if (shown === '') isWhole = false;
      return shown;
    });
    return isWhole ? [text] : [];
  });
}
