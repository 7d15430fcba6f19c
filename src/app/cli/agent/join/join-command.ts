import { join } from 'node:path';
import { usage } from '../../../../kit/flags.ts';
import { isHostName } from '../../../../kit/net/listen-address.ts';
import { hashToken } from '../../../../kit/text/secrets.ts';
import { AgentError } from '../../../../tunnel/agent/errors.ts';
import { type Invitation, readInvitationLine } from '../../../../tunnel/protocol/invitation-line.ts';
import {
  type Command,
  type CommandContext,
  type CommandSyntax,
  INVALID_USAGE,
  type ParsedCommand,
  parseCommand,
} from '../../command.ts';
import { printable } from '../../output/cell-text.ts';
import { fileFlag, isAgreed, YES } from '../../shared-flags.ts';
import { configPlaces, FILE_IN_FOLDER, findConfigFile } from '../config/read-agent-config.ts';
import { FlagValues } from '../flag-values.ts';
import { readCertificates } from '../tunnel-specs.ts';
import { JoinedFile, type JoinPorts } from './joined-file.ts';

const SYNTAX: CommandSyntax = {
  name: 'agent',
  about: 'Gives the agent on this machine a token of its own.',
  subcommands: [
    {
      name: 'join',
      operands: '[INVITATION]',
      about: 'exchange a line of "postern agents invite" for a token, and write it to the configuration file',
      flags: [
        fileFlag('config', 'Configuration file to write; its other lines stay as they are.', {
          default: './postern-agent.yaml if it exists, otherwise ~/.config/postern/agent.yaml',
        }),
        fileFlag('root-ca', 'PEM file with the CA of the gateway, for an invitation that names none.', {
          kind: 'repeated',
        }),
        YES,
      ],
    },
  ],
  notes: [
    'Without INVITATION, the command reads it from standard input. It dials the gateway that the line names and compares its CA with the hash in the line. Only then does it send the secret. The file is readable for this user only.',
  ],
  examples: ['postern agent join pstn-…', 'postern agent join --config /etc/postern/agent.yaml < invitation'],
  exitCodes: { 0: 'the agent has a token', 1: 'failed, or answered with no', 2: INVALID_USAGE },
};

const EXIT_DECLINED = 1;
/** The same line does not work later either. */
const FINAL_CODES: ReadonlySet<string> = new Set(['ERR_POSTERN_AGENT_INVITATION', 'ERR_POSTERN_AGENT_CERTIFICATE']);

export function createAgentCommand(ports: JoinPorts): Command {
  return {
    syntax: SYNTAX,
    run: async (args, context) => {
      const parsed = parseCommand(SYNTAX, args);
      const line = await lineOf(parsed, context, ports);
      const reading = readInvitationLine(line);
      if (!reading.ok) throw usage(reading.problem);
      return joinGateway(reading.invitation, parsed, context, ports);
    },
  };
}

async function joinGateway(
  invitation: Invitation,
  parsed: ParsedCommand,
  context: CommandContext,
  ports: JoinPorts,
): Promise<number> {
  const flags = new FlagValues(parsed);
  const file = await fileOf(flags, context, ports);
  const { gateway } = invitation;
  // The CAs of a file that the current directory happens to have would vouch for the server that gets the new token.
  if (!file.isOwn && file.namesCa && invitation.caSha256 === null && !flags.has('root-ca'))
    throw usage(
      `${printable(file.path)} in this directory names CAs (root_cas), and the invitation names none: if the file is yours, name it with --config, otherwise set --root-ca`,
    );
  if (file.current !== null) {
    if (!flags.has('yes') && context.ask === undefined) {
      throw usage(`${file.path} has a token already, and there is no terminal to ask: add --yes to replace it`);
    }
    const question = `${file.path} has a token for ${printable(file.current)}. Replace it?`;
    if (!(await isAgreed(parsed, context, question))) {
      context.warn('postern: nothing was changed, and the invitation was not used');
      return EXIT_DECLINED;
    }
  }
  const roots = flags.repeated('root-ca');
  const ca = roots.length === 0 ? undefined : await readCertificates(roots, '--root-ca', ports.files);
  const token = await file.pendingToken(hashToken(invitation.secret), () => ports.newToken());
  context.warn(`Joining ${gateway} …`);
  const enrolment = await ports
    .enroll({ invitation, token, name: ports.hostName, ca })
    .catch(async (error: unknown) => {
      if (error instanceof AgentError && FINAL_CODES.has(error.code)) await file.forgetPending();
      throw error instanceof AgentError ? new AgentError(error.code, printable(error.message)) : error;
    });
  await file.save({ serverAddr: gateway, token, authority: enrolment.authority ?? ca?.join('') ?? null });
  context.warn(
    `This machine has joined ${gateway} as ${printable(enrolment.credentialId)}. ${file.path} has its token.`,
  );
  for (const name of ['POSTERN_AUTHTOKEN', 'POSTERN_SERVER_ADDR']) {
    if (context.env[name]) context.warn(`postern: ${name} is set and takes precedence over the file: unset it`);
  }
  const isFound = !flags.has('config');
  context.warn('Publish a local service, here on port 3000:');
  context.print(`${nextCommand(enrolment.acl)}${isFound ? '' : ` --config ${file.path}`}`);
  return 0;
}

async function lineOf({ positionals }: ParsedCommand, context: CommandContext, ports: JoinPorts): Promise<string> {
  const [line, ...more] = positionals;
  // The printed command, quoted or not.
  if (more.length > 0) throw usage('postern agent join takes one invitation: copy the line that starts with pstn-');
  if (line !== undefined && line !== '-') return line;
  return (await context.ask?.('Invitation: ')) ?? ports.readStdin();
}

async function fileOf(flags: FlagValues, context: CommandContext, { files }: JoinPorts): Promise<JoinedFile> {
  const named = flags.text('config');
  if (named !== null) {
    const path = await files.resolve(named);
    const found = (await files.exists(path)) ? await findConfigFile(path, context.env, files) : null;
    return new JoinedFile({ path, text: found?.text ?? null, isOwn: true }, files);
  }
  const found = await findConfigFile(undefined, context.env, files);
  const [, home = join(files.home, '.config', 'postern', FILE_IN_FOLDER)] = configPlaces(context.env, files.home);
  const path = await files.resolve(found?.path ?? home);
  return new JoinedFile({ path, text: found?.text ?? null, isOwn: found?.isOwn ?? true }, files);
}

const BIND = 'bind:';

/**
 * A command that publishes a service under a name that these rules allow. The rules come from a server: only names are
 * shown.
 */
function nextCommand(acl: readonly string[]): string {
  const allowed = acl.filter((rule) => rule.startsWith(BIND)).map((rule) => rule.slice(BIND.length));
  const hosts = allowed.map((subject) => subject.replace(/^\*\./, 'app.'));
  const host = hosts.find(isHostName);
  if (host !== undefined) return `postern http 3000 --domain ${host}`;
  const label = allowed.find((subject) => /^[A-Za-z0-9._/-]+=[A-Za-z0-9._/-]+$/.test(subject));
  return label === undefined ? 'postern http 3000' : `postern tunnel 3000 --label ${label}`;
}
