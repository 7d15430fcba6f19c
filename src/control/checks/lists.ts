import { type Check, type Finding, findingMaker } from './check.ts';
import type { CheckedList, Facts } from './facts.ts';

const found = findingMaker('lists');

/** Lists of addresses: one that was never loaded closes its routes, and one that is not renewed decides by old entries. */
export const lists = {
  name: 'lists',
  nouns: ['ip_policy_lists'],
  *run({ ip_policy_lists: all }: Pick<Facts, 'ip_policy_lists'>): Generator<Finding | null> {
    for (const list of all) yield judge(list);
  },
} satisfies Check;

function judge(list: CheckedList): Finding {
  const { id, description, enforce, status, error, entries, skipped_lines: skipped } = list;
  const name = `the IP policy list ${id}${description === '' ? '' : ` (${description})`}`;
  const why = error === null ? '' : `: ${error}`;
  const advice = `remove the cause, then load it: postern api ip-policy-lists refresh ${id}`;
  if (status === 'missing' && enforce)
    return found.problem(`${name} was never loaded, so the routes of its policy reject all traffic${why}`, advice, {
      id,
    });
  if (status === 'missing') return found.warning(`${name}, which is rehearsed, was never loaded${why}`, advice, { id });
  if (status === 'stale')
    return found.warning(`${name} could not be renewed, and its former entries stay in use${why}`, advice, { id });
  if (skipped > 0) {
    const line = `${name} has ${skipped} lines that are neither addresses nor ranges, which are skipped`;
    return found.warning(line, 'correct them in its source', { id });
  }
  return found.ok(`${name} has ${entries} entries`);
}
