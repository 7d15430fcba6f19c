import type { Transport } from '../../client/transport.ts';
import { isOn, type ParsedFlags } from '../../lib/flags.ts';
import type { JsonObject } from '../../lib/json.ts';
import { sendForAll } from '../api/send-request.ts';
import type { CommandContext } from '../command.ts';
import { outputFormat } from '../output/output-format.ts';
import { printTable } from '../output/rows-table.ts';
import { printStructured } from '../output/structured-text.ts';

export async function listUsers(transport: Transport, parsed: ParsedFlags, context: CommandContext): Promise<number> {
  const format = outputFormat(parsed.flags);
  const users = await allUsers(transport);
  if (format === 'json' || format === 'yaml') printStructured({ user_accounts: users }, format, context);
  else if (format === 'id') for (const { id } of users) context.print(id);
  else if (users.length === 0) context.warn('There are no people yet: postern users add EMAIL invites one.');
  else printTable(users.map(rowOf), context, { isUtc: isOn(parsed, 'utc') });
  return 0;
}

/** The fields that commands use. */
export interface ListedUser extends JsonObject {
  readonly id: string;
  readonly email: string;
  readonly groups: readonly string[];
}

export async function allUsers(transport: Transport): Promise<readonly ListedUser[]> {
  const { body } = await sendForAll(transport, { method: 'GET', path: '/user_accounts?limit=100' }, 'user_accounts');
  return (body?.['user_accounts'] ?? []) as unknown as readonly ListedUser[];
}

function rowOf({ id, email, name, groups, active, passkey_count, last_login_at }: ListedUser): JsonObject {
  return {
    email,
    name: name ?? '',
    groups: groups.join(','),
    active: active ?? null,
    passkeys: passkey_count ?? 0,
    last_login: last_login_at ?? null,
    id,
  };
}
