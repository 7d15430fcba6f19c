import type { AgentAccess } from '../contract/agent-form.ts';
import { acceptRuleLines, ruleLinesSchema } from '../path_rules/agent-lines.ts';

const USAGE = 'TYPE MATCH TO';

/** Agents write a rule as one line. */
export const rewriteAgent: AgentAccess = {
  form: {
    order: 10,
    key: 'rewrite',
    shape: 'list',
    protocols: ['https', 'http'],
    fields: [
      {
        name: 'rules',
        example: '["path_prefix /api/ /"]',
        isRepeated: true,
        flag: {
          name: 'rewrite',
          hint: 'RULE',
          description: `Change the path for your service: "${USAGE}", with exact_path, path_prefix or regex as TYPE.`,
        },
      },
    ],
    whenEmpty: 'rewrite has no rules: write some, or remove it',
    summary: ['rewrite {rules}'],
  },
  schema: ruleLinesSchema,
  accept: (form) =>
    acceptRuleLines(form, USAGE, (others) => (others.length > 0 ? `write each rule as "${USAGE}"` : {})),
};
