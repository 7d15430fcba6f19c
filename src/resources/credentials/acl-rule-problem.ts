import { hostNameProblem } from '../../lib/net/host-name.ts';
import { labelsProblem } from '../../lib/text/labels.ts';
import { agentModules } from '../../modules/agent-modules.ts';
import { modules } from '../../modules/registry.ts';

const ANY_MODULE = 'configure:*';
const CONFIGURABLE = agentModules(modules).map(({ name }) => `configure:${name}`);
export const CONFIGURE_EXAMPLE = CONFIGURABLE[0] ?? ANY_MODULE;

/** The problem with one rule of a credential's acl, or null. */
export function aclRuleProblem(rule: string): string | null {
  if (rule.startsWith('configure:')) return configureRuleProblem(rule);
  if (!rule.startsWith('bind:'))
    return `has the rule "${rule}": rules start with "bind:" or "configure:", as in "bind:app.example.com", "bind:env=prod" or "${CONFIGURE_EXAMPLE}"`;
  const subject = rule.slice('bind:'.length);
  const separator = subject.indexOf('=');
  if (separator !== -1) {
    const problem = labelsProblem({ [subject.slice(0, separator)]: subject.slice(separator + 1) });
    return problem === null ? null : `has the rule "${rule}", which ${problem}`;
  }
  if (subject === '*') return null;
  const problem = hostNameProblem(subject, 'allowed');
  return problem === null ? null : `has the rule "${rule}": ${problem}`;
}

function configureRuleProblem(rule: string): string | null {
  const known = [ANY_MODULE, ...CONFIGURABLE];
  return known.includes(rule)
    ? null
    : `has the rule "${rule}", which names no module that agents can configure: use ${known.map((each) => `"${each}"`).join(', ')}`;
}
