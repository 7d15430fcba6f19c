import { ruleAgent } from '../path_rules/rule-agent.ts';

const STATUSES: readonly number[] = [301, 302, 307, 308];

export const redirectAgent = ruleAgent({
  name: 'redirect',
  order: 9,
  usage: 'TYPE MATCH TO [STATUS]',
  example: 'path_prefix /old/ /new/ 308',
  what: 'Redirect paths',
  fields: ([status = '302', ...others]) => {
    const code = STATUSES.find((each) => String(each) === status);
    if (code === undefined || others.length > 0)
      return 'the status of a rule is 301, 302, 307 or 308, and its last word';
    return { status_code: code };
  },
});
