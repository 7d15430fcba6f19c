import { type Finding, findingsOf } from '../../checks/check.ts';
import { messageOf } from '../../lib/error-text.ts';
import { isOn } from '../../lib/flags.ts';
import { terminalWidth } from '../api/terminal-width.ts';
import type { Command } from '../command.ts';
import { type CommandSyntax, INVALID_USAGE, SETTINGS_EXIT_CODE } from '../command-syntax.ts';
import { countByLevel, textReport } from '../doctor/report.ts';
import { printJson } from '../output/structured-text.ts';
import { parseCommand } from '../parse-command.ts';
import { serverSettings } from '../server-settings.ts';
import { settingsGroup } from '../settings-group.ts';
import { switchFlag } from '../shared-flags.ts';
import { judgeUpgrade } from './judge-upgrade.ts';
import type { ExaminedStore, UpgradePorts } from './upgrade-ports.ts';

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
