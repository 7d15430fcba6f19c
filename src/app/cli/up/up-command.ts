import { flagOf, settingNames, settingOf } from '../../settings/schema.ts';
import { settingFlags } from '../../settings/setting-flags.ts';
import { runWithApi } from '../api/api-access.ts';
import { API_EXIT_CODES, type Command, type CommandSyntax, parseCommand, SETTINGS_EXIT_CODE } from '../command.ts';
import { GUARD_FLAGS, PEOPLE_FLAGS } from '../edge/edge-arguments.ts';
import { API_KEY_FILE, switchFlag, textFlag, YES } from '../shared-flags.ts';
import { bringUp } from './bring-up.ts';
import { parseUp, type UpPorts } from './wanted-up.ts';

/** Other users of the machine can read flags, and everybody the file: secrets go elsewhere. */
const PUBLIC_SETTINGS = settingFlags.filter(
  ({ name }) => !settingNames.some((setting) => flagOf(setting) === name && settingOf(setting).secrecy !== 'public'),
);

const SYNTAX: CommandSyntax = {
  name: 'up',
  usage: ['HOST --to TARGET'],
  hasOperands: true,
  about:
    'Publishes a host, and sets up the server if there is none: checks ports, privileges and DNS, writes the settings file and shows what it changes there, starts the server, and makes edge, route, backend and login in one change. With root and systemd the server becomes a service, otherwise it runs in this terminal. Run again, it changes what its flags say and leaves everything else as it is: only --no-login removes a login or access rules. "postern down HOST" removes what it made.',
  flags: [
    textFlag(
      'to',
      'TARGET',
      "Where requests go: a port of the server's machine, 127.0.0.1:3000, http://web:8080, https://web:8443, a folder to serve such as ./site, which is added to file_roots, or the id of a backend. Required the first time.",
    ),
    switchFlag(
      'login',
      "Require a login at the server's own identity host. --no-login removes the login and the access rules, after a question.",
    ),
    ...PEOPLE_FLAGS,
    ...GUARD_FLAGS,
    textFlag(
      'console',
      'HOST',
      'Publish the console there too, for people who log in at the identity host and have a role (console_roles).',
    ),
    textFlag('email', 'ADDRESS', 'Address that the ACME server may write to about certificates (acme_email).'),
    { ...YES, description: 'Accept the terms of the ACME server and everything else that the command asks.' },
    API_KEY_FILE,
  ],
  groups: [
    {
      title: 'Settings',
      flags: PUBLIC_SETTINGS,
      summary:
        'Every flag of "postern server" that is no secret (--edge-listen, --identity-host and so on) is written to the settings file: the file after --config, otherwise /etc/postern/server.yaml for a service and postern-server.yaml in this directory. Lines and comments that are there stay.',
    },
  ],
  examples: [
    'sudo postern up app.example.com --to 3000 --email you@example.com',
    'sudo postern up app.example.com --login --allow-email ana@example.com',
    'postern up app.localhost --to 3000',
    'sudo postern up docs.example.com --to /srv/www/docs',
  ],
  exitCodes: {
    ...API_EXIT_CODES,
    0: 'published',
    1: 'a check failed, or the question was answered with no',
    ...SETTINGS_EXIT_CODE,
  },
};

/** From nothing to a published site. */
export function createUpCommand(ports: UpPorts): Command {
  return {
    syntax: SYNTAX,
    run: async (args, context) => {
      const parsed = parseCommand(SYNTAX, args);
      const wanted = await parseUp(parsed, context);
      return runWithApi(context, () => bringUp({ wanted, parsed, typed: args, context, ports }));
    },
  };
}
