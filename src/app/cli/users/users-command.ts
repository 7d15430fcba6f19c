import type { Transport } from '../../../client/transport.ts';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { emailAddress } from '../../../kit/text/email-address.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { sendForAll } from '../api/send-request.ts';
import {
  API_EXIT_CODES,
  type Command,
  type CommandContext,
  type CommandSyntax,
  type ParsedCommand,
  parseCommand,
} from '../command.ts';
import { isId } from '../names/names.ts';
import { printable } from '../output/cell-text.ts';
import { outputFlag, outputFormat, printStructured } from '../output/output-format.ts';
import { printTable } from '../output/table.ts';
import { CONNECTION, isAgreed, switchFlag, textFlag, UTC, YES } from '../shared-flags.ts';

/** The id of a person. By address or id alone: names and descriptions are not unique, and others can choose them. */
export async function findUser(transport: Transport, person: string): Promise<string> {
  if (isId(person)) return person;
  const wanted = emailAddress(person)?.text;
  const found = (await allUsers(transport)).find(({ email }) => emailAddress(email)?.text === wanted);
  if (wanted === undefined || found === undefined) {
    throw usage(`nobody has the address "${printable(person)}": postern users list shows all people`);
  }
  return found.id;
}

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

export interface Invited {
  readonly invitation_url: string;
  readonly invitation_sent_to: string | null;
}

/** Where the link went; the link itself if it was not mailed, or somebody asks for it. */
export function showInvitation(
  who: string,
  { invitation_url: url, invitation_sent_to: sentTo }: Invited,
  { isPrinted, context }: { readonly isPrinted: boolean; readonly context: CommandContext },
): void {
  if (sentTo !== null) {
    context.warn(`The invitation is on its way to ${printable(sentTo)}.`);
    if (!isPrinted) return;
  } else {
    context.warn(`Send ${printable(who)} this link. It works once, for the first who opens it:`);
  }
  context.print(printable(url));
}

const PATH = '/user_accounts';
const PERSON = 'PERSON';
const PEOPLE = ['user_account'];
const PRINT = switchFlag('print', 'Print the link, also if it is mailed.');

const SYNTAX: CommandSyntax = {
  name: 'users',
  about:
    'Manages the people who log in at the identity host with passkeys (setting identity_host). PERSON is an e-mail address or an id.',
  subcommands: [
    {
      name: 'add',
      operands: 'EMAIL…',
      about: 'invite people: mail each the link, or print it if the server sends no mail',
      flags: [
        textFlag('name', 'TEXT', 'Full name of the person.'),
        {
          name: 'groups',
          kind: 'list',
          hint: 'GROUP,…',
          description: 'Groups of the person, which access rules and console_roles name.',
        },
        textFlag('description', 'TEXT', 'Free text for your own use.'),
        PRINT,
      ],
    },
    { name: 'list', isDefault: true, about: 'list people, newest first', flags: [outputFlag(), UTC] },
    {
      name: 'invite',
      operands: PERSON,
      completedBy: PEOPLE,
      about: 'make a new link; an earlier one no longer works',
      flags: [
        switchFlag('remove-passkeys', 'End the passkeys and logins of the person now: for a lost device.'),
        PRINT,
      ],
    },
    {
      name: 'disable',
      operands: PERSON,
      completedBy: PEOPLE,
      about: 'end all logins of a person, and block their login',
    },
    { name: 'enable', operands: PERSON, completedBy: PEOPLE, about: 'let a disabled person log in again' },
    {
      name: 'log-out',
      operands: PERSON,
      completedBy: PEOPLE,
      about: 'end all logins of a person; their passkeys stay',
    },
    {
      name: 'remove',
      operands: PERSON,
      completedBy: PEOPLE,
      about: 'delete a person with their passkeys and logins, which cannot be undone',
      flags: [YES],
    },
  ],
  groups: [CONNECTION],
  examples: [
    'postern users add ana@example.com ben@example.com --groups ops',
    'postern users invite ana@example.com --remove-passkeys',
  ],
  exitCodes: { ...API_EXIT_CODES, 1: 'rejected by the API or answered with no' },
};

const EXIT_DECLINED = 1;

/** People of the identity host. */
export const usersCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    if (parsed.subcommand === 'remove' && !isOn(parsed, 'yes') && context.ask === undefined) {
      throw usage('postern users remove asks before it deletes a person, and there is no terminal: add --yes');
    }
    const operand = parsed.subcommand === 'list' || parsed.subcommand === 'add' ? '' : onlyOperand(parsed);
    if (parsed.subcommand === 'add' && parsed.positionals.length === 0) {
      throw usage('postern users add needs an e-mail address');
    }
    if (parsed.positionals.length > 1 && parsed.flags.has('name')) throw usage('--name is for one person');
    return runWithApi(context, async () => run(await openTransport(parsed, context), operand, parsed, context));
  },
};

async function run(
  transport: Transport,
  operand: string,
  parsed: ParsedCommand,
  context: CommandContext,
): Promise<number> {
  if (parsed.subcommand === 'list') return listUsers(transport, parsed, context);
  if (parsed.subcommand === 'add') {
    // One after another: those before a refusal are invited, and their links are shown.
    for (const email of parsed.positionals) {
      const { text } = await transport.send({ method: 'POST', path: PATH, body: newPerson(email, parsed) });
      showInvitation(email, JSON.parse(text) as Invited, { isPrinted: isOn(parsed, 'print'), context });
    }
    return 0;
  }
  const id = await findUser(transport, operand);
  const path = `${PATH}/${encodeURIComponent(id)}`;
  switch (parsed.subcommand) {
    case 'invite': {
      const body = { remove_passkeys: isOn(parsed, 'remove-passkeys') };
      const { text } = await transport.send({ method: 'POST', path: `${path}/invite`, body });
      showInvitation(operand, JSON.parse(text) as Invited, { isPrinted: isOn(parsed, 'print'), context });
      return 0;
    }
    case 'disable':
    case 'enable': {
      const active = parsed.subcommand === 'enable';
      await transport.send({ method: 'PATCH', path, body: { active } });
      context.print(`${printable(operand)} is ${active ? 'enabled' : 'disabled and logged out'}`);
      return 0;
    }
    case 'log-out':
      await transport.send({ method: 'POST', path: `${path}/sign_out` });
      context.print(`${printable(operand)} is logged out everywhere`);
      return 0;
    default:
      return remove(transport, path, operand, parsed, context);
  }
}

async function remove(
  transport: Transport,
  path: string,
  operand: string,
  parsed: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const question = `Delete ${printable(operand)} with all passkeys and logins?`;
  if (!(await isAgreed(parsed, context, question))) {
    context.warn('postern: nothing was changed');
    return EXIT_DECLINED;
  }
  await transport.send({ method: 'DELETE', path });
  context.print(`${printable(operand)} is deleted`);
  return 0;
}

function newPerson(email: string, { flags, values }: ParsedFlags): JsonObject {
  const given = ['name', 'description'].filter((name) => flags.has(name)).map((name) => [name, flags.get(name) ?? '']);
  const groups = (values.get('groups') ?? []).flatMap((list) => list.split(',')).map((group) => group.trim());
  return { email, ...Object.fromEntries(given), ...(groups.length > 0 && { groups }) };
}

function onlyOperand({ positionals, subcommand }: ParsedCommand): string {
  const [operand, ...more] = positionals;
  if (operand === undefined || more.length > 0) {
    throw usage(`postern users ${subcommand} needs one person: an e-mail address or an id`);
  }
  return operand;
}
