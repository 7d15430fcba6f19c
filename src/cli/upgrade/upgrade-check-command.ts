import { type Finding, findingsOf } from '../../checks/finding.ts';
import { configFlags, loadConfig } from '../../config/load.ts';
import { type FlagForm, parseFlags, usage } from '../../lib/flags.ts';
import type { Command } from '../command.ts';
import { countByLevel, textReport } from '../doctor/report.ts';
import { judgeUpgrade } from './judge-upgrade.ts';
import type { ExaminedStore, UpgradePorts } from './upgrade-ports.ts';

const JSON_FLAG = 'json';
const FLAGS: ReadonlyMap<string, FlagForm> = new Map([...configFlags, [JSON_FLAG, 'switch']]);

const HELP = `
Usage: postern upgrade-check [--json] [FLAGS]

Run it with the new program before you switch to it. It reads the store that the settings name, changes nothing, and says whether
this program can start on it, what its first start would change, whether older servers are in the way, and whether you could go back.

  --json    print the result as JSON

The command takes the settings of "postern server" (--data-dir, --database-url, --config and so on) to find the store.
Exit code: 0 this program can start, 1 it cannot, or the store cannot be read, 2 wrong usage.
`;

export function createUpgradeCheckCommand(ports: UpgradePorts): Command {
  return {
    help: HELP,
    run: async (args, context) => {
      const { flags, positionals } = parseFlags(args, FLAGS);
      if (positionals[0] !== undefined) throw usage('postern upgrade-check takes no arguments, only flags');
      const { config } = loadConfig({ flags, env: context.env });
      let store: ExaminedStore | null = null;
      let findings: readonly Finding[];
      try {
        store = await ports.examine(config);
        findings = judgeUpgrade(store, config);
      } catch (error) {
        const unreadable = findingsOf('store');
        const message = error instanceof Error ? error.message : String(error);
        unreadable.problem(message, 'run this where the server runs, with its settings and as its user');
        findings = unreadable.list;
      }
      if (flags.get(JSON_FLAG) === 'true') context.print(JSON.stringify(jsonOf(ports.version, store, findings)));
      else for (const line of [heading(ports.version, store), '', ...textReport(findings)]) context.print(line);
      return countByLevel(findings).problem > 0 ? 1 : 0;
    },
  };
}

function heading(version: string, store: ExaminedStore | null): string {
  return store === null
    ? `Postern ${version}: the store cannot be read`
    : `Postern ${version}, schema version ${store.knownSchemaVersion}; ${store.engine} store, schema version ${store.schemaVersion}`;
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
