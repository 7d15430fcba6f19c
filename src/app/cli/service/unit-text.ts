export type Role = 'server' | 'agent';

export interface UnitPlan {
  readonly role: Role;
  /** Without `.service`. */
  readonly name: string;
  /** Words that start this program: the single executable, or Node and the launcher. */
  readonly command: readonly string[];
  /** A unit of the user's own manager. */
  readonly isOfUser: boolean;
  /** An existing user; null: systemd creates one for as long as the service runs. */
  readonly runAs: string | null;
  readonly environmentFile: string;
  /** The agent's configuration file. */
  readonly agentConfig: string;
  /** Whether the agent publishes containers by their labels. */
  readonly hasDocker: boolean;
  /** The group that may read the socket of Docker; null: there is none on this machine. */
  readonly dockerGroup: string | null;
}

const DESCRIPTION = 'Description=Postern ';
const WRITTEN_BY = '# Written by "postern service install".';

/** Whether the text is that of a server which the command installed. */
export function isOwnUnit(text: string): boolean {
  return text.startsWith(WRITTEN_BY) && text.includes(`\n${DESCRIPTION}server\n`);
}

/** The text of the unit. Every line has its reason in docs/how-to/run-as-a-service.md. */
export function unitText(plan: UnitPlan): string {
  const edit = `systemctl ${plan.isOfUser ? '--user ' : ''}edit ${plan.name}`;
  return [
    `${WRITTEN_BY} Settings are in ${plan.environmentFile}.`,
    `# Change this unit with "${edit}", which a later installation keeps.`,
    '[Unit]',
    `${DESCRIPTION}${plan.role}`,
    // The user's manager does not know the system's targets.
    ...(plan.isOfUser ? [] : ['Wants=network-online.target', 'After=network-online.target']),
    // Restarts never stop: a server that comes back by itself needs nobody at night.
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    ...(plan.role === 'server' ? serverLines(plan) : agentLines(plan)),
    ...(plan.isOfUser ? [] : identityLines(plan)),
    `EnvironmentFile=-${unitPath(plan.environmentFile)}`,
    'UMask=0077',
    '',
    ...SECCOMP_LINES,
    ...(plan.isOfUser ? [] : SANDBOX_LINES),
    '',
    '[Install]',
    `WantedBy=${plan.isOfUser ? 'default.target' : 'multi-user.target'}`,
    '',
  ].join('\n');
}

function serverLines({ command, name }: UnitPlan): readonly string[] {
  return [
    'Type=notify',
    // The server reports through systemd-notify, which is a child process.
    'NotifyAccess=all',
    `ExecStart=${execLine([...command, 'server'])}`,
    // The shell's own kill: a minimal Debian has no /bin/kill.
    `ExecReload=/bin/sh -c 'kill -HUP \${MAINPID}'`,
    'Restart=always',
    'RestartSec=2',
    // A command line or a setting that the program rejects stays wrong.
    'RestartPreventExitStatus=2 78',
    'WatchdogSec=60',
    // A migration of a large store takes a while; a drain lasts drain_delay, twice shutdown_timeout and 20 s.
    'TimeoutStartSec=10min',
    'TimeoutStopSec=90',
    'KillMode=mixed',
    'LimitNOFILE=1048576',
    `StateDirectory=${name}`,
    'StateDirectoryMode=0700',
    `Environment=POSTERN_DATA_DIR=%S/${name}`,
  ];
}

function agentLines({ command, agentConfig, isOfUser, hasDocker }: UnitPlan): readonly string[] {
  const docker = hasDocker ? ['--docker'] : [];
  const words = [...command, 'start', '--all', ...docker, '--no-inspect', '--log-format', 'json', '--config'];
  return [
    'Type=exec',
    ...(isOfUser
      ? [`ExecStart=${execLine([...words, agentConfig])}`]
      : [
          // The file holds the token, and only root can read it: systemd hands a copy to the service.
          `LoadCredential=agent.yaml:${unitPath(agentConfig)}`,
          `ExecStart=${execLine(words)} \${CREDENTIALS_DIRECTORY}/agent.yaml`,
        ]),
    // An agent that was stopped through the API exits with 0, and stays stopped.
    'Restart=on-failure',
    'RestartSec=5',
    'RestartPreventExitStatus=2 78',
    'TimeoutStopSec=30',
    'LimitNOFILE=1048576',
  ];
}

function identityLines({ runAs, role, hasDocker, dockerGroup }: UnitPlan): readonly string[] {
  const capability = role === 'server' ? 'CAP_NET_BIND_SERVICE' : '';
  return [
    ...(runAs === null ? ['DynamicUser=yes'] : [`User=${runAs}`]),
    ...(hasDocker && dockerGroup !== null ? [`SupplementaryGroups=${dockerGroup}`] : []),
    ...(capability === '' ? [] : [`AmbientCapabilities=${capability}`]),
    `CapabilityBoundingSet=${capability}`,
  ];
}

/**
 * What an unprivileged manager can apply too. No MemoryDenyWriteExecute: the engine compiles JavaScript at run time.
 */
const SECCOMP_LINES = [
  'NoNewPrivileges=yes',
  'LockPersonality=yes',
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
  'SystemCallErrorNumber=EPERM',
];

const SANDBOX_LINES = [
  'ProtectSystem=strict',
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectProc=invisible',
  'RemoveIPC=yes',
];

/**
 * Quoting for unit files (systemd.syntax(7), "Quoting") and environment files (systemd.exec(5), EnvironmentFile=).
 */

/** Words of `ExecStart=`: specifiers (%) and variables ($) stay as they are typed. */
function execLine([program = '', ...words]: readonly string[]): string {
  // systemd replaces no variables in the program's own path, and so "$$" would stay.
  return [quoted(program), ...words.map((word) => quoted(word.replaceAll('$', '$$$$')))].join(' ');
}

/** systemd rejects these in the path of a program ("Executable name contains special characters"). */
export function isStartable(program: string): boolean {
  return !/["'\\\p{Cc}]/u.test(program);
}

/** A value of another setting that takes one path: it has specifiers but no quoting. */
function unitPath(path: string): string {
  return path.replaceAll('%', '%%');
}

function quoted(word: string): string {
  const escaped = word.replaceAll('%', '%%');
  if (/^[\w@%+=:,./${}-]+$/.test(escaped)) return escaped;
  return `"${escaped.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`;
}

/** Lines of an environment file by variable. Comments and lines that systemd would ignore are not in it. */
export function readEnvironment(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [, name = '', raw = ''] of text.matchAll(/^([A-Za-z_]\w*)=("(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^\n]*)$/gm)) {
    if (raw.startsWith('"')) values.set(name, raw.slice(1, -1).replaceAll(/\\([\s\S])/g, '$1'));
    else values.set(name, raw.startsWith("'") ? raw.slice(1, -1) : raw.trim());
  }
  return values;
}

/** Replaces or adds one variable, and leaves every other line as it is. */
export function withVariable(text: string, name: string, value: string): string {
  const line = `${name}="${value.replaceAll(/["\\$`]/g, '\\$&')}"`;
  const existing = new RegExp(`^${name}=(?:"(?:[^"\\\\]|\\\\[\\s\\S])*"|[^\\n]*)$`, 'm');
  if (existing.test(text)) return text.replace(existing, () => line);
  return `${text === '' || text.endsWith('\n') ? text : `${text}\n`}${line}\n`;
}
