import { messageOf } from '../../../kit/error-text.ts';
import { type Finding, findingTable } from '../../../kit/findings.ts';
import { isOn } from '../../../kit/flags.ts';
import type { Config } from '../../settings/schema.ts';
import { type Command, type CommandSyntax, INVALID_USAGE, parseCommand, SETTINGS_EXIT_CODE } from '../command.ts';
import { countByLevel, shownFinding, textReport } from '../doctor/report.ts';
import { printJson } from '../output/output-format.ts';
import { terminalWidth } from '../output/terminal.ts';
import { serverSettings, settingsGroup } from '../server-settings.ts';
import { switchFlag } from '../shared-flags.ts';

const SYNTAX: CommandSyntax = {
  name: 'upgrade-check',
  about:
    'Checks whether this program can start on the store that the settings name. Run it with the new program before you switch to it. It changes nothing. It reports what the first start would change, whether older nodes prevent it, and whether you could go back.',
  flags: [switchFlag('json', 'Print the result as JSON.')],
  groups: [settingsGroup('to find the store')],
  examples: ['sudo postern upgrade-check', 'postern upgrade-check --data-dir postern-data'],
  exitCodes: {
    0: 'this program can start',
    1: 'it cannot, or the store cannot be read',
    2: INVALID_USAGE,
    ...SETTINGS_EXIT_CODE,
  },
};

const ofStore = findingTable('store', {
  store_unreadable: {
    level: 'problem',
    text: ({ error }: { readonly error: unknown }) => messageOf(error),
    advice: 'run this where the server runs, with its settings and as its user',
  },
  store_absent: {
    level: 'warning',
    text: ({ data_dir: folder, database_url: url }: Config) =>
      `there is no store in ${url === null ? folder : 'the database'}: nothing was checked, and the first start would create an empty store there`,
    advice: ({ database_url: url }: Config) =>
      url === null
        ? 'if a server of yours has data, name its folder with --data-dir; in a container, mount the volume of the running one'
        : 'if a server of yours has data, give this program its database_url',
  },
  store_too_new: {
    level: 'problem',
    text: ({ schemaVersion: found, knownSchemaVersion: known }: ExaminedStore) =>
      `the store has schema version ${found}, and this program knows versions up to ${known}`,
    advice: 'start the version that wrote the store or a later one, or restore a backup from before its migration',
  },
});

const ofKey = findingTable('secret key', {
  secret_key_differs: {
    level: 'problem',
    text: ({ message }: Error) => message,
    advice: 'give this program the same secret key as the one that runs now',
  },
});

const ofMigration = findingTable('migration', {
  migration_pending: {
    level: 'hint',
    text: ({ schemaVersion: found, knownSchemaVersion: known }: ExaminedStore) =>
      `the first start migrates the store from schema version ${found} to ${known}, in one transaction`,
  },
  migration_step: {
    level: 'hint',
    text: ({ version, steps }: ExaminedStore['pending'][number]) => `version ${version}: ${steps.join(', ')}`,
  },
  downgrade_impossible: {
    level: 'warning',
    text: 'a downgrade is impossible after that: older versions refuse the migrated store',
    advice: 'make a backup first, with the program that runs now: postern store backup FILE',
  },
});

const ofServers = findingTable('servers', {
  store_held: {
    level: 'hint',
    text: ({ holder }: ExaminedStore) => `${holder} runs on this store`,
    advice: ({ isCompatible }: ExaminedStore) =>
      isCompatible
        ? '"postern restart" lets this program take over without downtime'
        : 'stop it before this program starts: it cannot run on beside the migration',
  },
  older_servers_stop_writing: {
    level: 'warning',
    text: ({ count, addresses }: ExaminedStore['olderServers']) =>
      `${count} connected server(s) of an older version (${addresses}) can write nothing after the migration`,
    advice: 'restart them with this version soon after',
  },
  older_servers_connected: {
    level: 'problem',
    text: ({ count, addresses }: ExaminedStore['olderServers']) =>
      `${count} server(s) of an older version are connected (${addresses}), and the migration does not start under them`,
    advice: 'stop them first, or set database_migrate_under_old_nodes to true, which stops their writes instead',
  },
});

export function createUpgradeCheckCommand(ports: UpgradePorts): Command {
  return {
    syntax: SYNTAX,
    run: async (args, context) => {
      const parsed = parseCommand(SYNTAX, args);
      const { flags } = parsed;
      const { config } = await serverSettings(flags, context);
      let store: ExaminedStore | null = null;
      let findings: readonly Finding[];
      try {
        store = await ports.examine(config);
        findings = judgeUpgrade(store, config);
      } catch (error) {
        findings = [ofStore.found('store_unreadable', { error })];
      }
      if (isOn(parsed, 'json')) printJson(JSON.stringify(jsonOf(ports.version, store, findings)), context);
      else
        for (const line of [heading(ports.version, store), '', ...textReport(findings, terminalWidth(context))])
          context.print(line);
      return countByLevel(findings).problem > 0 ? 1 : 0;
    },
  };
}

function heading(version: string, store: ExaminedStore | null): string {
  if (store === null) return `Postern ${version}: the store cannot be read`;
  const found =
    store.schemaVersion === 0
      ? `no ${store.engine} store`
      : `${store.engine} store, schema version ${store.schemaVersion}`;
  return `Postern ${version}, schema version ${store.knownSchemaVersion}; ${found}`;
}

function jsonOf(version: string, store: ExaminedStore | null, findings: readonly Finding[]): object {
  return {
    ok: countByLevel(findings).problem === 0,
    program: { version, schema_version: store?.knownSchemaVersion ?? null },
    store: store === null ? null : { engine: store.engine, schema_version: store.schemaVersion },
    migrations: store?.pending ?? [],
    older_servers: store?.olderServers.count ?? 0,
    can_downgrade:
      store !== null &&
      store.schemaVersion > 0 &&
      store.schemaVersion <= store.knownSchemaVersion &&
      store.pending.length === 0,
    findings: findings.map(shownFinding),
  };
}

/** What starting this program on the store means. A problem keeps it from starting. */
export function judgeUpgrade(store: ExaminedStore, config: Config): readonly Finding[] {
  const { schemaVersion: found, knownSchemaVersion: known } = store;
  if (found === 0) return [ofStore.found('store_absent', config)];
  if (found > known && !store.isCompatible) return [ofStore.found('store_too_new', store)];
  return [keyFinding(store), ...migrationFindings(store), ...serverFindings(store, config)];
}

function keyFinding({ keyProblem }: ExaminedStore): Finding {
  return keyProblem === null
    ? ofKey.ok('the secret key fits the store')
    : ofKey.found('secret_key_differs', keyProblem);
}

function migrationFindings(store: ExaminedStore): readonly Finding[] {
  const { found, ok } = ofMigration;
  const { schemaVersion, knownSchemaVersion: known, pending } = store;
  if (schemaVersion > known)
    return [
      ok(`none: the store has schema version ${schemaVersion}, which only adds to version ${known} of this program`),
    ];
  if (pending.length === 0)
    return [
      ok(`none: the store has schema version ${schemaVersion}, which this program uses`),
      ok('a downgrade is possible: both versions use the same tables'),
    ];
  return [
    found('migration_pending', store),
    ...pending.map((migration) => found('migration_step', migration)),
    found('downgrade_impossible', null),
  ];
}

function serverFindings(store: ExaminedStore, config: Config): readonly Finding[] {
  const held = store.holder === null ? [] : [ofServers.found('store_held', store)];
  return [...held, ...olderServerFindings(store, config)];
}

function olderServerFindings(
  { olderServers, holder, pending, isCompatible }: ExaminedStore,
  config: Config,
): readonly Finding[] {
  const { found, ok } = ofServers;
  const { count, addresses } = olderServers;
  if (count === 0 || pending.length === 0)
    return holder === null ? [ok('no server of an older version is in the way')] : [];
  if (isCompatible)
    return [ok(`${count} connected server(s) of an older version (${addresses}) can run on beside the migration`)];
  const code = config.database_migrate_under_old_nodes ? 'older_servers_stop_writing' : 'older_servers_connected';
  return [found(code, olderServers)];
}

/** A store, as the next start of this program would find it. */
export interface ExaminedStore {
  readonly engine: string;
  /** 0 for a store that does not exist yet. */
  readonly schemaVersion: number;
  readonly knownSchemaVersion: number;
  readonly pending: readonly { readonly version: number; readonly steps: readonly string[] }[];
  /** Whether servers of the store's version can run on beside the migration. */
  readonly isCompatible: boolean;
  readonly keyProblem: Error | null;
  readonly olderServers: { readonly count: number; readonly addresses: string };
  readonly holder: string | null;
}

export interface UpgradePorts {
  readonly version: string;
  /** Reads only. */
  examine(config: Config): Promise<ExaminedStore>;
}
