import { type Finding, findingsOf } from '../../../control/checks/check.ts';
import { messageOf } from '../../../kit/error-text.ts';
import { isOn } from '../../../kit/flags.ts';
import type { Config } from '../../settings/schema.ts';
import { type Command, type CommandSyntax, INVALID_USAGE, parseCommand, SETTINGS_EXIT_CODE } from '../command.ts';
import { countByLevel, textReport } from '../doctor/report.ts';
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
        const unreadable = findingsOf('store');
        const message = messageOf(error);
        unreadable.problem(message, 'run this where the server runs, with its settings and as its user');
        findings = unreadable.list;
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
    findings,
  };
}

/** What starting this program on the store means. A problem keeps it from starting. */
export function judgeUpgrade(store: ExaminedStore, config: Config): readonly Finding[] {
  const { schemaVersion: found, knownSchemaVersion: known } = store;
  if (found === 0) {
    const findings = findingsOf('store');
    const where = config.database_url === null ? config.data_dir : 'the database';
    findings.warning(
      `there is no store in ${where}: nothing was checked, and the first start would create an empty store there`,
      config.database_url === null
        ? 'if a server of yours has data, name its folder with --data-dir; in a container, mount the volume of the running one'
        : 'if a server of yours has data, give this program its database_url',
    );
    return findings.list;
  }
  if (found > known && !store.isCompatible) {
    const findings = findingsOf('store');
    findings.problem(
      `the store has schema version ${found}, and this program knows versions up to ${known}`,
      'start the version that wrote the store or a later one, or restore a backup from before its migration',
    );
    return findings.list;
  }
  return [...keyFindings(store), ...migrationFindings(store), ...serverFindings(store, config)];
}

function keyFindings({ keyProblem }: ExaminedStore) {
  const findings = findingsOf('secret key');
  if (keyProblem === null) findings.ok('the secret key fits the store');
  else findings.problem(keyProblem.message, 'give this program the same secret key as the one that runs now');
  return findings.list;
}

function migrationFindings({ schemaVersion: found, knownSchemaVersion: known, pending }: ExaminedStore) {
  const findings = findingsOf('migration');
  if (found > known) {
    findings.ok(`none: the store has schema version ${found}, which only adds to version ${known} of this program`);
    return findings.list;
  }
  if (pending.length === 0) {
    findings.ok(`none: the store has schema version ${found}, which this program uses`);
    findings.ok('a downgrade is possible: both versions use the same tables');
    return findings.list;
  }
  findings.hint(`the first start migrates the store from schema version ${found} to ${known}, in one transaction`);
  for (const { version, steps } of pending) findings.hint(`version ${version}: ${steps.join(', ')}`);
  findings.warning(
    'a downgrade is impossible after that: older versions refuse the migrated store',
    'make a backup first, with the program that runs now: postern store backup FILE',
  );
  return findings.list;
}

function serverFindings({ olderServers, holder, pending, isCompatible }: ExaminedStore, config: Config) {
  const findings = findingsOf('servers');
  const { count, addresses } = olderServers;
  if (holder !== null) {
    findings.hint(
      `${holder} runs on this store`,
      isCompatible
        ? '"postern restart" lets this program take over without downtime'
        : 'stop it before this program starts: it cannot run on beside the migration',
    );
  }
  if (count === 0 || pending.length === 0) {
    if (holder === null) findings.ok('no server of an older version is in the way');
  } else if (isCompatible) {
    findings.ok(`${count} connected server(s) of an older version (${addresses}) can run on beside the migration`);
  } else if (config.database_migrate_under_old_nodes) {
    findings.warning(
      `${count} connected server(s) of an older version (${addresses}) can write nothing after the migration`,
      'restart them with this version soon after',
    );
  } else {
    findings.problem(
      `${count} server(s) of an older version are connected (${addresses}), and the migration does not start under them`,
      'stop them first, or set database_migrate_under_old_nodes to true, which stops their writes instead',
    );
  }
  return findings.list;
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
