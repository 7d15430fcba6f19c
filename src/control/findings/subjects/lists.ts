import { type Finding, findingTable } from '../../../kit/findings.ts';
import type { CheckedList, Facts } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';

const { kinds, found, ok } = findingTable('lists', {
  list_missing: {
    level: 'problem',
    text: (list: CheckedList) =>
      `${nameOf(list)} was never loaded, so the routes of its policy reject all traffic${reasonOf(list)}`,
    advice: loadAdvice,
  },
  rehearsed_list_missing: {
    level: 'warning',
    text: (list: CheckedList) => `${nameOf(list)}, which is rehearsed, was never loaded${reasonOf(list)}`,
    advice: loadAdvice,
  },
  list_stale: {
    level: 'warning',
    text: (list: CheckedList) =>
      `${nameOf(list)} could not be renewed, and its former entries stay in use${reasonOf(list)}`,
    advice: loadAdvice,
  },
  list_lines_skipped: {
    level: 'warning',
    text: (list: CheckedList) =>
      `${nameOf(list)} has ${list.skipped_lines} lines that are neither addresses nor ranges, which are skipped`,
    advice: 'correct them in its source',
  },
});

function nameOf({ id, description }: CheckedList): string {
  return `the IP policy list ${id}${description === '' ? '' : ` (${description})`}`;
}

function reasonOf({ error }: CheckedList): string {
  return error === null ? '' : `: ${error}`;
}

function loadAdvice({ id }: CheckedList): string {
  return `remove the cause, then load it: postern api ip-policy-lists refresh ${id}`;
}

/**
 * Lists of addresses: one that was never loaded closes its routes, and one that is not renewed decides by old entries.
 */
const listsCheck: Check = {
  name: 'lists',
  nouns: ['ip_policy_lists'],
  kinds,
  *run({ ip_policy_lists: all }: Pick<Facts, 'ip_policy_lists'>): Generator<Finding | null> {
    for (const list of all) yield judge(list);
  },
};

function judge(list: CheckedList): Finding {
  const { id, enforce, status, entries, skipped_lines: skipped } = list;
  if (status === 'missing') return found(enforce ? 'list_missing' : 'rehearsed_list_missing', list, { id });
  if (status === 'stale') return found('list_stale', list, { id });
  if (skipped > 0) return found('list_lines_skipped', list, { id });
  return ok(`${nameOf(list)} has ${entries} entries`);
}

export const lists: Subject = { checks: [listsCheck] };
