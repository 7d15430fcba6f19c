import type { TunnelCommandName } from '../../cli/agent/agent-syntax.ts';
import type { Command } from '../../cli/command.ts';

/** Headings of the overview. */
export type Part = 'Server' | 'Agent' | 'Configuration' | 'Traffic and people' | 'Shell';

export interface CommandRow {
  readonly name: string;
  readonly part: Part;
  readonly summary: string;
  /** Loaded only when it runs: `--help` needs no database driver. */
  load(): Promise<Command>;
  /** The command runs until it is stopped, whether or not anybody reads its output. */
  readonly isLongRunning?: true;
}

export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'up',
    part: 'Server',
    summary: 'publish a host, and set up the server if there is none',
    isLongRunning: true,
    load: async () => {
      const [{ createUpCommand }, { upPorts }] = await Promise.all([
        import('../../cli/up/up-command.ts'),
        import('./up-ports.ts'),
      ]);
      return createUpCommand(upPorts);
    },
  },
  {
    name: 'down',
    part: 'Server',
    summary: 'remove a host that "postern up" published',
    load: async () => {
      const [{ createDownCommand }, { upPorts }] = await Promise.all([
        import('../../cli/up/down-command.ts'),
        import('./up-ports.ts'),
      ]);
      return createDownCommand(upPorts);
    },
  },
  {
    name: 'server',
    part: 'Server',
    summary: 'start the server',
    isLongRunning: true,
    load: async () => (await import('./server-command.ts')).serverCommand,
  },
  {
    name: 'restart',
    part: 'Server',
    summary: 'replace the running server by a new process without failing a request',
    load: async () => (await import('../../cli/restart/restart-command.ts')).restartCommand,
  },
  {
    name: 'http',
    part: 'Agent',
    summary: 'expose a local HTTP service at a public address',
    isLongRunning: true,
    load: () => loadTunnelCommand('http'),
  },
  {
    name: 'tcp',
    part: 'Agent',
    summary: 'expose a local TCP service on a port of the server',
    isLongRunning: true,
    load: () => loadTunnelCommand('tcp'),
  },
  {
    name: 'tls',
    part: 'Agent',
    summary: 'expose a local TLS service under a public name; its private key stays local',
    isLongRunning: true,
    load: () => loadTunnelCommand('tls'),
  },
  {
    name: 'tunnel',
    part: 'Agent',
    summary: 'add a local service to tunnel group backends by labels',
    isLongRunning: true,
    load: () => loadTunnelCommand('tunnel'),
  },
  {
    name: 'start',
    part: 'Agent',
    summary: 'start the tunnels of a configuration file, or publish containers by their labels',
    isLongRunning: true,
    load: async () => {
      const [{ createStartCommand }, { agentPorts }] = await Promise.all([
        import('../../cli/agent/start-command.ts'),
        import('./agent-ports.ts'),
      ]);
      return createStartCommand(agentPorts());
    },
  },
  {
    name: 'agent',
    part: 'Agent',
    summary: 'join a server with an invitation',
    load: async () => {
      const [{ createAgentCommand }, { joinPorts }] = await Promise.all([
        import('../../cli/agent/join/join-command.ts'),
        import('./join-ports.ts'),
      ]);
      return createAgentCommand(joinPorts());
    },
  },
  {
    name: 'config',
    part: 'Agent',
    summary: "check an agent's configuration file",
    load: async () => {
      const [{ createConfigCommand }, { agentPorts }] = await Promise.all([
        import('../../cli/agent/config-command.ts'),
        import('./agent-ports.ts'),
      ]);
      return createConfigCommand(agentPorts());
    },
  },
  {
    name: 'store',
    part: 'Server',
    summary: 'back up, restore or re-key the store, or create an API key when locked out',
    load: async () => {
      const [{ createStoreCommand }, { storePorts }] = await Promise.all([
        import('../../cli/store/store-command.ts'),
        import('./store-ports.ts'),
      ]);
      return createStoreCommand(storePorts);
    },
  },
  {
    name: 'service',
    part: 'Server',
    summary: 'run the server or the agent as a systemd service',
    load: async () => {
      const [{ createServiceCommand }, { servicePorts }] = await Promise.all([
        import('../../cli/service/service-command.ts'),
        import('./service-ports.ts'),
      ]);
      return createServiceCommand(servicePorts);
    },
  },
  {
    name: 'status',
    part: 'Server',
    summary: 'show server, nodes, edges, agents and problems on one screen',
    load: async () => (await import('../../cli/status/status-command.ts')).statusCommand,
  },
  {
    name: 'doctor',
    part: 'Server',
    summary: 'check an installation and report problems with their remedies',
    load: async () => {
      const [{ createDoctorCommand }, { doctorPorts }] = await Promise.all([
        import('../../cli/doctor/doctor-command.ts'),
        import('./doctor-ports.ts'),
      ]);
      return createDoctorCommand(doctorPorts);
    },
  },
  {
    name: 'health',
    part: 'Server',
    summary: 'ask the server on this machine whether it is healthy',
    load: async () => (await import('../../cli/health/health-command.ts')).healthCommand,
  },
  {
    name: 'upgrade-check',
    part: 'Server',
    summary: 'compare the store with this program before you switch to it',
    load: async () => {
      const [{ createUpgradeCheckCommand }, { upgradePorts }] = await Promise.all([
        import('../../cli/upgrade/upgrade-check-command.ts'),
        import('./upgrade-ports.ts'),
      ]);
      return createUpgradeCheckCommand(upgradePorts());
    },
  },
  {
    name: 'ca',
    part: 'Server',
    summary: 'print the internal CAs and how to trust them',
    load: async () => {
      const [{ createCaCommand }, { caPorts }] = await Promise.all([
        import('../../cli/ca/ca-command.ts'),
        import('./ca-ports.ts'),
      ]);
      return createCaCommand(caPorts);
    },
  },
  {
    name: 'edge',
    part: 'Configuration',
    summary: 'serve a host: edge, route, backend and login in one change',
    load: async () => (await import('../../cli/edge/edge-command.ts')).edgeCommand,
  },
  {
    name: 'api',
    part: 'Configuration',
    summary: 'call the management API',
    load: loadApiCommand,
  },
  {
    name: 'export',
    part: 'Configuration',
    summary: 'write the configuration as a YAML file',
    load: async () => (await import('../../cli/configuration/export-command.ts')).exportCommand,
  },
  {
    name: 'validate',
    part: 'Configuration',
    summary: 'check configuration files without a server',
    load: async () => (await import('../../cli/configuration/validate-command.ts')).validateCommand,
  },
  {
    name: 'plan',
    part: 'Configuration',
    summary: 'show how configuration files differ from the server',
    load: async () => (await import('../../cli/configuration/plan-command.ts')).planCommand,
  },
  {
    name: 'apply',
    part: 'Configuration',
    summary: 'make the server match files',
    load: async () => (await import('../../cli/configuration/apply-command.ts')).applyCommand,
  },
  {
    name: 'changes',
    part: 'Configuration',
    summary: 'list changes of the configuration, show one, or verify the history',
    load: async () => (await import('../../cli/changes/changes-command.ts')).changesCommand,
  },
  {
    name: 'undo',
    part: 'Configuration',
    summary: 'take a change of the configuration back',
    load: async () => (await import('../../cli/changes/undo-command.ts')).undoCommand,
  },
  {
    name: 'confirm',
    part: 'Configuration',
    summary: 'keep a change that the server reverts otherwise',
    load: async () => (await import('../../cli/changes/confirm-command.ts')).confirmCommand,
  },
  {
    name: 'search',
    part: 'Configuration',
    summary: 'find edges, routes and other configuration by host name, path, description or id',
    load: async () => (await import('../../cli/search/search-command.ts')).searchCommand,
  },
  {
    name: 'import',
    part: 'Configuration',
    summary: 'make a configuration from that of ngrok, frp or Caddy',
    load: async () => (await import('../../cli/import/import-command.ts')).importCommand,
  },
  {
    name: 'explain',
    part: 'Traffic and people',
    summary: 'explain what the edge would do with a request, and why',
    load: async () => (await import('../../cli/explain/explain-command.ts')).explainCommand,
  },
  {
    name: 'requests',
    part: 'Traffic and people',
    summary: 'list the last requests, show one by its id, or watch them',
    load: async () => (await import('../../cli/requests/requests-command.ts')).requestsCommand,
  },
  {
    name: 'events',
    part: 'Traffic and people',
    summary: 'watch events as they happen, or replay deliveries',
    load: async () => (await import('../../cli/events/events-command.ts')).eventsCommand,
  },
  {
    name: 'alerts',
    part: 'Traffic and people',
    summary: 'list what is wrong now',
    load: async () => {
      const [{ createAlertsCommand }, api] = await Promise.all([
        import('../../cli/alerts/alerts-command.ts'),
        loadApiCommand(),
      ]);
      return createAlertsCommand(api);
    },
  },
  {
    name: 'access',
    part: 'Traffic and people',
    summary: 'test access rules, or review who passes them',
    load: async () => (await import('../../cli/access/access-command.ts')).accessCommand,
  },
  {
    name: 'users',
    part: 'Traffic and people',
    summary: 'invite people who log in with passkeys, disable or remove them',
    load: async () => (await import('../../cli/users/users-command.ts')).usersCommand,
  },
  {
    name: 'agents',
    part: 'Traffic and people',
    summary: 'invite agents on other machines, and list agents',
    load: async () => {
      const [{ createAgentsCommand }, api] = await Promise.all([
        import('../../cli/agents/agents-command.ts'),
        loadApiCommand(),
      ]);
      return createAgentsCommand(api);
    },
  },
  {
    name: 'nodes',
    part: 'Traffic and people',
    summary: 'list the nodes of this installation',
    load: async () => {
      const [{ createNodesCommand }, api] = await Promise.all([
        import('../../cli/nodes/nodes-command.ts'),
        loadApiCommand(),
      ]);
      return createNodesCommand(api);
    },
  },
  {
    name: 'open',
    part: 'Traffic and people',
    summary: 'open the console in the browser',
    load: async () => (await import('../../cli/open/open-command.ts')).openCommand,
  },
  {
    name: 'completion',
    part: 'Shell',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('../../cli/completion/completion-command.ts')).createCompletionCommand(COMMANDS),
  },
];

async function loadApiCommand(): Promise<Command> {
  const [{ createApiCommand }, { operationList }] = await Promise.all([
    import('../../cli/api/api-command.ts'),
    import('../../cli/api/operation-list.ts'),
  ]);
  return createApiCommand(operationList());
}

async function loadTunnelCommand(name: TunnelCommandName): Promise<Command> {
  const [{ createTunnelCommand }, { agentPorts }] = await Promise.all([
    import('../../cli/agent/tunnel-command.ts'),
    import('./agent-ports.ts'),
  ]);
  return createTunnelCommand(name, agentPorts());
}
