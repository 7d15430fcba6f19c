import type { AgentAccess } from '../contract/agent-form.ts';
import { acceptRuleLines, ruleLinesSchema } from '../path_rules/agent-lines.ts';

const USAGE = 'TYPE MATCH TO [STATUS]';
const STATUSES: readonly number[] = [301, 302, 307, 308];

/** Agents write a rule as one line. */
export const redirectAgent: AgentAccess = {
  form: {
    order: 9,
    key: 'redirect',
    shape: 'list',
    protocols: ['https', 'http'],
    fields: [
      {
        name: 'rules',
        example: '["path_prefix /old/ /new/ 308"]',
        isRepeated: true,
        flag: {
          name: 'redirect',
          hint: 'RULE',
          description: `Redirect paths: "${USAGE}", with exact_path, path_prefix or regex as TYPE. Default status: 302.`,
        },
      },
    ],
    whenEmpty: 'redirect has no rules: write some, or remove it',
    summary: ['redirect {rules}'],
  },
  schema: ruleLinesSchema,
  accept: (form) =>
    acceptRuleLines(form, USAGE, (others) => {
      const [status = '302', ...more] = others;
      const code = STATUSES.find((each) => String(each) === status);
      if (code === undefined || more.length > 0) return `the status of a rule is 301, 302, 307 or 308: "${USAGE}"`;
      return { status_code: code };
    }),
};
