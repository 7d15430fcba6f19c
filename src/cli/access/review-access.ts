import type { TSchema } from 'typebox';
import { usage } from '../../lib/flags.ts';
import type { JsonObject } from '../../lib/json.ts';
import { table } from '../api/table.ts';
import type { AccessCall } from './access-command.ts';
import { proposedRules } from './proposed-rules.ts';

const UNITS_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 };

interface Review {
  readonly people: readonly (JsonObject & { readonly allowed: boolean; readonly rule: string | null })[];
  readonly is_truncated: boolean;
}

/** Lists people with a session, and whether the rules let them in. */
export async function reviewAccess(call: AccessCall): Promise<number> {
  const { transport, path, flags, context } = call;
  const access = await proposedRules(call);
  const since = flags.get('since');
  const query = since === undefined ? {} : { since: timeOf(since) };
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

/** A duration before now, or a time. */
function timeOf(since: string): string {
  const [, count = '', unit = ''] = /^(\d{1,6})([dhm])$/.exec(since) ?? [];
  const ms = UNITS_MS[unit];
  if (ms !== undefined) return new Date(Date.now() - Number(count) * ms).toISOString();
  if (/^\d{4}-\d{2}-\d{2}T/.test(since)) return since;
  throw usage('--since takes a duration such as 30d or 12h, or a time such as 2026-11-01T00:00:00Z');
}
