import { PosternConnectionError } from '../../../client/call-errors.ts';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { isLoopbackHost, parseListenAddress } from '../../../kit/net/listen-address.ts';
import { type Invitation, invitationLine, readInvitationLine } from '../../../tunnel/protocol/invitation-line.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import {
  API_EXIT_CODES,
  type Command,
  type CommandContext,
  type CommandSyntax,
  type ParsedCommand,
  parseCommand,
} from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { outputFlag } from '../output/output-format.ts';
import { CONNECTION, switchFlag, textFlag, UTC } from '../shared-flags.ts';

const PATH = '/agent_invitations';
/** What each list is in the API. */
const LISTS: Readonly<Record<string, string>> = { list: 'tunnel-sessions', invitations: 'agent-invitations' };

const SYNTAX: CommandSyntax = {
  name: 'agents',
  about: 'Connects agents on other machines to this server.',
  subcommands: [
    {
      name: 'invite',
      about: 'print a line that gives an agent on another machine its token, once and within ten minutes',
      flags: [
        {
          name: 'host',
          kind: 'list',
          hint: 'HOST,…',
          description: 'Host names that the agent may use, such as app.example.com or *.builds.example.com.',
        },
        {
          name: 'label',
          kind: 'list',
          hint: 'NAME=VALUE',
          description: 'Labels that tunnels of the agent may have.',
        },
        switchFlag('any-host', 'Allow all host names and labels, without a warning.'),
        textFlag('description', 'TEXT', 'Name of the credential; the host name of the machine follows it.'),
        textFlag('gateway', 'HOST:PORT', 'Address that the agent dials.', {
          default: 'tunnel_address, otherwise tunnel_names and tunnel_listen of the server',
        }),
      ],
    },
    { name: 'list', isDefault: true, about: 'list connected agents', flags: [outputFlag(), UTC] },
    { name: 'invitations', about: 'list invitations that were not used', flags: [outputFlag(), UTC] },
    {
      name: 'revoke',
      operands: 'INVITATION_ID',
      completedBy: ['agent_invitation'],
      about: 'end an invitation that was not used',
    },
  ],
  groups: [CONNECTION],
  notes: [
    'The line contains the address of the gateway, the hash of its CA and a secret, and no token. Pass it on like a password: the first machine that runs it gets the token. Tokens of agents that have joined are credentials: "postern api credentials list" shows them, and "postern api credentials delete" ends one.',
  ],
  examples: ['postern agents invite --host app.example.com', "postern agents invite --host '*.builds.example.com'"],
  exitCodes: API_EXIT_CODES,
};

/** Invitations for agents, and short forms of API commands. */
export function createAgentsCommand(api: Command): Command {
  return {
    syntax: SYNTAX,
    run: (args, context) => {
      const parsed = parseCommand(SYNTAX, args);
      const listed = LISTS[parsed.subcommand ?? ''];
      if (listed !== undefined)
        return api.run([listed, 'list', ...(args[0] === parsed.subcommand ? args.slice(1) : args)], context);
      if (parsed.subcommand === 'revoke') return revoke(parsed, context);
      return invite(parsed, context);
    },
  };
}

function invite(parsed: ParsedCommand, context: CommandContext): Promise<number> {
  const body = bodyOf(parsed);
  return runWithApi(context, async () => {
    const transport = await openTransport(parsed, context);
    const { text } = await transport.send({ method: 'POST', path: PATH, body });
    const invitation = invitationIn(text);
    context.warn(`Run this on the other machine within ten minutes. It works once, and dials ${invitation.gateway}:`);
    context.print(`postern agent join ${invitationLine(invitation)}`);
    for (const note of notes(invitation, parsed)) context.warn(note);
    return 0;
  });
}

/** The command is pasted into a shell: nothing of the answer is in it that is not in an invitation. */
function invitationIn(answer: string): Invitation {
  const { invitation } = Object(JSON.parse(answer)) as Readonly<Record<string, unknown>>;
  const reading = readInvitationLine(typeof invitation === 'string' ? invitation : '');
  if (reading.ok) return reading.invitation;
  const advice = 'check that --api-url leads to a Postern API, and use the same release here and there';
  throw new PosternConnectionError('not_postern', `the answer has no invitation: ${advice}`);
}

function notes({ gateway, caSha256 }: Invitation, parsed: ParsedFlags): readonly string[] {
  const { host = '' } = parseListenAddress(gateway) ?? {};
  return [
    ...(isLoopbackHost(host)
      ? [
          `postern: ${gateway} works on this machine only: set tunnel_listen and tunnel_names on the server, or use --gateway HOST:PORT`,
        ]
      : []),
    ...(caSha256 === null
      ? [
          'postern: the gateway has a certificate of its own, so the agent trusts the CAs of its system; for others, add --root-ca FILE there',
        ]
      : []),
    ...(parsed.values.has('host') || parsed.values.has('label') || isOn(parsed, 'any-host')
      ? []
      : ['postern: without --host, the agent may use every host name and label that no edge has']),
  ];
}

function bodyOf({ flags, values }: ParsedFlags): JsonObject {
  const itemsOf = (name: string): readonly string[] =>
    (values.get(name) ?? []).flatMap((list) => list.split(',')).map((item) => item.trim());
  const subjects = ['host', 'label'].flatMap(itemsOf);
  if (subjects.includes('')) throw usage('--host and --label must not be empty');
  const wrong = itemsOf('label').find((label) => !label.includes('='));
  if (wrong !== undefined) throw usage(`--label ${JSON.stringify(wrong)} is not NAME=VALUE`);
  const given = ['description', 'gateway'].filter((name) => flags.has(name));
  return {
    acl: subjects.map((subject) => `bind:${subject}`),
    ...Object.fromEntries(given.map((name) => [name, flags.get(name) ?? ''])),
  };
}

function revoke(parsed: ParsedCommand, context: CommandContext): Promise<number> {
  const [id, ...more] = parsed.positionals;
  if (id === undefined || more.length > 0) throw usage('postern agents revoke needs the id of one invitation');
  return runWithApi(context, async () => {
    const transport = await openTransport(parsed, context);
    await transport.send({ method: 'DELETE', path: `${PATH}/${encodeURIComponent(id)}` });
    context.print(`${printable(id)} is revoked`);
    return 0;
  });
}
