import { type Flag, usage } from '../../../kit/flags.ts';
import { settingFlags } from '../../settings/setting-flags.ts';
import { type Command, type CommandSyntax, INVALID_USAGE, parseCommand, SETTINGS_EXIT_CODE } from '../command.ts';
import { fileFlag, switchFlag, textFlag } from '../shared-flags.ts';
import { installService, uninstallService } from './install-service.ts';
import { planService } from './installed-server.ts';
import type { ServicePorts } from './service-ports.ts';
import { type Role, unitText } from './unit-text.ts';

const ROLES: readonly string[] = ['server', 'agent'] satisfies Role[];
const OWN_FLAGS: readonly Flag[] = [
  switchFlag(
    'user',
    'A service of your own, without root; it runs while you are logged in (see loginctl enable-linger).',
  ),
  textFlag('name', 'NAME', 'Name of the unit.', { default: 'postern, or postern-agent' }),
  textFlag('run-as', 'USER', 'Run as this user.', {
    default: 'a user that systemd creates and that exists only while the service runs',
  }),
  fileFlag('agent-config', "The agent's configuration file.", { default: '/etc/postern/agent.yaml' }),
  switchFlag(
    'docker',
    'The agent also publishes containers by their labels. Its user gets the group "docker" where there is one, which reads the socket, and could start containers as root: a socket proxy avoids that.',
  ),
  { ...switchFlag('start', 'Write the files only.'), isOnByDefault: true },
  textFlag('root', 'DIR', 'Write into the file system of an image at DIR instead of this machine.', { isFile: true }),
];
const ROLE = '[server|agent]';

const SYNTAX: CommandSyntax = {
  name: 'service',
  about: 'Runs the server or the agent as a systemd service. The service is the server unless "agent" is given.',
  subcommands: [
    {
      name: 'install',
      operands: ROLE,
      about: 'write a hardened systemd unit, start it, and start it again at every boot',
    },
    {
      name: 'uninstall',
      operands: ROLE,
      about: 'stop the service and delete the unit; settings and data stay',
    },
    { name: 'print', operands: ROLE, about: 'print the unit, and change nothing' },
  ],
  flags: OWN_FLAGS,
  groups: [
    {
      title: 'Settings',
      flags: settingFlags,
      summary:
        'Every flag of "postern server" (--domain, --edge-listen and so on) is written to the service\'s environment file, which only root can read; settings that are already there stay.',
    },
  ],
  examples: [
    'sudo postern service install --domain example.com',
    'sudo postern service install agent',
    'postern service print',
  ],
  exitCodes: { 0: 'success', 1: 'failed', 2: INVALID_USAGE, ...SETTINGS_EXIT_CODE },
};

export function createServiceCommand(ports: ServicePorts): Command {
  return {
    syntax: SYNTAX,
    run: async (args, context) => {
      const { subcommand: name, flags, positionals } = parseCommand(SYNTAX, args);
      const [role = 'server', extra] = positionals;
      if (!ROLES.includes(role) || extra !== undefined) throw usage(`usage: postern service ${name} ${ROLE} [FLAGS]`);
      const command = ports.ownCommand();
      const dockerGroup = dockerGroupOf(ports, flags.get('root') ?? '');
      const plan = planService({ role: role as Role, flags, command, env: context.env, dockerGroup });
      if (name === 'print') {
        context.print(unitText(plan).trimEnd());
        return 0;
      }
      const settings = new Map([...flags].filter(([flag]) => !OWN_FLAGS.some((own) => own.name === flag)));
      const request = {
        plan,
        settings,
        isStarted: flags.get('start') !== 'false',
        typed: args,
        context,
        ports,
      };
      return name === 'install' ? installService(request) : uninstallService(request);
    },
  };
}

/** systemd refuses to start a unit with a group that does not exist. */
function dockerGroupOf(ports: ServicePorts, root: string): string | null {
  return /^docker:/m.test(ports.read(`${root}/etc/group`) ?? '') ? 'docker' : null;
}
