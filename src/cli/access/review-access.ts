import type { TSchema } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import { table } from '../api/table.ts';
import { timeFlag } from '../time-flag.ts';
import type { AccessCall } from './access-command.ts';
import { proposedRules } from './proposed-rules.ts';

interface Review {
  readonly people: readonly (JsonObject & { readonly allowed: boolean; readonly rule: string | null })[];
  readonly is_truncated: boolean;
}

/** Lists people with a session, and whether the rules let them in. */
export async function reviewAccess(call: AccessCall): Promise<number> {
  const { transport, path, flags, context } = call;
  const access = await proposedRules(call);
  const since = flags.get('since');
  const query = since === undefined ? {} : { since: timeFlag('since', since) };
  const review = { path: `${path}/review`, query };
  const { text } = await transport.send(
    access === null ? { ...review, method: 'GET' } : { ...review, method: 'POST', body: { access } },
  );
  if (flags.get('json') === 'true') {
    context.print(text);
    return 0;
  }
  const { people, is_truncated: isTruncated } = JSON.parse(text) as Review;
  const rows = people.map(({ email, last_active: lastActive, allowed, rule, reason }) => ({
    access: allowed ? 'allowed' : 'refused',
    rule: rule ?? (reason as string),
    email: email as string,
    last_active: lastActive as string,
  }));
  if (rows.length > 0) for (const line of table(rows, LAYOUT)) context.print(line);
  const allowed = people.filter((person) => person.allowed).length;
  context.print(`${people.length} people: ${allowed} allowed, ${people.length - allowed} refused`);
  if (isTruncated) context.warn('postern: warning: there are more people than the API lists');
  return 0;
}

const LAYOUT = {
  schema: {
    type: 'object',
    properties: { access: {}, rule: {}, email: {}, last_active: {} },
  } as TSchema,
  leftOut: [],
  terminalWidth: null,
};
