import { agentModules, commandForm } from '../../src/modules/agent-modules.ts';
import { modules } from '../../src/modules/registry.ts';

export const name = 'agent-forms';

const PATH = 'src/app/cli/agent/generated/module-forms.json';

/**
 * The facts about modules that the agent's commands need. A file, because loading the modules takes longer than a
 * command may.
 */
export function generate(): Promise<Map<string, string>> {
  const forms = agentModules(modules).map(commandForm);
  return Promise.resolve(new Map([[PATH, `${JSON.stringify(forms, null, 1)}\n`]]));
}
