import Type, { type Static } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { AcceptedForm, AgentAccess } from '../contract/agent-form.ts';

const MAX_LINES = 50;
const MAX_LINE_LENGTH = 2_100;

export interface RuleForm {
  /** Name of the module, the key and the flag. */
  readonly name: string;
  readonly order: number;
  /** How a rule is written. */
  readonly usage: string;
  readonly example: string;
  /** What its flag does. */
  readonly what: string;
  /** Reads the words after the first three; a text is the problem. */
  readonly fields: (others: readonly string[]) => JsonObject | string;
}

/** The form of a module with rules for paths: agents write a rule as one line. */
export function ruleAgent({ name, order, usage, example, what, fields }: RuleForm): AgentAccess {
  const description = `${what}: "${usage}", with exact_path, path_prefix or regex as TYPE.`;
  return {
    form: {
      order,
      key: name,
      shape: 'list',
      protocols: ['https', 'http'],
      fields: [
        { name: 'rules', example: `["${example}"]`, isRepeated: true, flag: { name, hint: 'RULE', description } },
      ],
      whenEmpty: `${name} has no rules: write some, or remove it`,
      summary: [`${name} {rules}`],
    },
    schema: ruleLinesSchema,
    accept: (form) => acceptRuleLines(form, usage, fields),
  };
}

/** In the bind message: lines such as "path_prefix /old/ /new/". */
const ruleLinesSchema = Type.Object({
  rules: Type.Array(Type.String({ maxLength: MAX_LINE_LENGTH }), {
    default: [],
    maxItems: MAX_LINES,
    description:
      'Rules, each as TYPE MATCH TO, and of a redirect also STATUS (301, 302, 307 or 308; without one 302). TYPE is exact_path, path_prefix or regex.',
  }),
});

function acceptRuleLines(
  form: JsonObject,
  usage: string,
  fields: (others: readonly string[]) => JsonObject | string,
): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const lines = (form as Static<typeof ruleLinesSchema>).rules;
  const rules: JsonObject[] = [];
  for (const line of lines) {
    const [type = '', match = '', to = '', ...others] = line.trim().split(/ +/);
    if (to === '' || !/^(?:exact_path|path_prefix|regex)$/.test(type))
      return { problem: `write each rule as "${usage}", with exact_path, path_prefix or regex as TYPE` };
    const more = fields(others);
    if (typeof more === 'string') return { problem: more };
    rules.push({ match_type: type, match, to, ...more });
  }
  if (rules.length === 0) return { problem: `has no rules: write them as "${usage}"` };
  return { config: { enabled: true, rules }, records: [] };
}
