import { configFlags } from '../../config/load.ts';
import { type FlagForm, parseFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import type { Command } from '../command.ts';
import { installService, uninstallService } from './install-service.ts';
import { planService } from './service-plan.ts';
import type { ServicePorts } from './service-ports.ts';
import type { Role } from './unit-text.ts';
import { unitText } from './unit-text.ts';

const SUBCOMMANDS = ['install', 'uninstall', 'print'];
const ROLES: readonly string[] = ['server', 'agent'] satisfies Role[];
const OWN_FLAGS: ReadonlyMap<string, FlagForm> = new Map([
  ['user', 'switch'],
  ['name', 'value'],
  ['run-as', 'value'],
  ['agent-config', 'value'],
  ['root', 'value'],
  ['start', 'switch'],
]);

const HELP = `
Usage: postern service SUBCOMMAND [server|agent] [FLAGS]

  install      write a hardened systemd unit, start it, and start it again at every boot
  uninstall    stop the service and delete the unit; settings and data stay
  print        print the unit, and change nothing

The service is the server unless "agent" is given. Every flag of "postern server" (--domain, --edge-listen and so on) is written
to the service's environment file, which only root can read; settings that are already there stay.

  --user                  a service of your own, without root; it runs while you are logged in (see loginctl enable-linger)
  --name NAME             name of the unit (postern, or postern-agent)
  --run-as USER           run as this user; by default systemd creates one that exists only while the service runs
  --agent-config FILE     the agent's configuration file (/etc/postern/postern.yml)
  --no-start              write the files only
  --root DIR              write into the file system of an image at DIR instead of this machine
`;

export function createServiceCommand(ports: ServicePorts): Command {
  return {
    help: HELP,
    run: async ([name = '', ...args], context) => {
      if (!SUBCOMMANDS.includes(name)) {
        throw usage(
          `unknown subcommand ${JSON.stringify(name)}.${didYouMean(name, SUBCOMMANDS)} See postern service --help`,
        );
      }
      const words = args.map((arg) => (arg === '--no-start' ? '--start=false' : arg));
      const { flags, positionals } = parseFlags(words, new Map([...configFlags, ...OWN_FLAGS]));
      const [role = 'server', extra] = positionals;
      if (!ROLES.includes(role) || extra !== undefined)
        throw usage(`usage: postern service ${name} [server|agent] [FLAGS]`);
      const plan = planService({ role: role as Role, flags, command: ports.ownCommand(), env: context.env });
      if (name === 'print') {
        context.print(unitText(plan).trimEnd());
        return 0;
      }
      const settings = new Map([...flags].filter(([flag]) => !OWN_FLAGS.has(flag)));
      const request = {
        plan,
        settings,
        isStarted: flags.get('start') !== 'false',
        typed: [name, ...args],
        context,
        ports,
      };
      return name === 'install' ? installService(request) : uninstallService(request);
    },
  };
}
