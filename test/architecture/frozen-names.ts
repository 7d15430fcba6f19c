import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { type Metric, Registry } from 'prom-client';
import { errorTables } from '../../src/app/main/error-tables.ts';
import { startServer } from '../../src/app/main/server.ts';
import { loadConfig } from '../../src/app/settings/load.ts';
import { flagOf, settingNames, variableOf } from '../../src/app/settings/schema.ts';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { cookieNames } from '../../src/modules/login/session-cookie.ts';
import { modules } from '../../src/modules/registry.ts';
import { migrations } from '../../src/store/sql/schema/migrations.ts';
import { keysOfObjects } from './object-keys.ts';
import { productFiles } from './source-files.ts';

/**
 * Every name outside the API that data directories, backups, agents, dashboards and scripts depend on, one per line.
 * The API's own names are in `openapi.json`.
 */
export async function namesOfThisVersion(): Promise<ReadonlySet<string>> {
  return new Set([
    ...recordKinds(),
    ...storeNames(),
    ...cookies(),
    ...settings(),
    ...errorCodes(),
    ...logFields(),
    ...tunnelMessages(),
    ...(await namesOfARunningServer()),
  ]);
}

const API_KEY = 'frozen-names-api-key-0123456789abcdef';

const files = productFiles().filter(({ path }) => !path.includes('/conformance/'));

/** The first group of every match in the product's sources. */
function inSources(pattern: RegExp): string[] {
  return files.flatMap(({ text }) => Array.from(text.matchAll(pattern), (match) => match[1] as string));
}

function recordKinds(): string[] {
  const { compiled } = createCatalog(resources, modules);
  const kinds = resources.map(({ kind, idPrefix }) => `record kind: ${kind}, ids ${idPrefix}_`);
  const registered = new Set(resources.map(({ kind }) => kind));
  const ofModules = [...compiled.values()].flatMap((resource) => resource.modules.map(({ kind }) => kind));
  const internal = inSources(/\b(?:[A-Z]+_)*KIND = '([a-z_]+)'/g).filter((kind) => !registered.has(kind));
  return [...kinds, ...[...ofModules, ...internal].map((kind) => `record kind: ${kind}`)];
}

function storeNames(): string[] {
  return [
    ...inSources(/\b(?:(?:seal|open|mac)\(|purpose: )'([a-z-]+)'/g).map((purpose) => `seal purpose: ${purpose}`),
    ...inSources(/\bCHECK_CONTEXT = '([^']+)'/g).map((context) => `seal context: ${context}`),
    ...migrations.map(({ version }) => `migration: ${version}`),
  ];
}

function cookies(): string[] {
  const names = [...Object.values(cookieNames('')), ...inSources(/'(__Host-[\w.-]+)'/g)];
  const marks = inSources(/\bOWN_COOKIE_MARK = '([^']+)'/g).map((mark) => `cookie value: begins with ${mark}`);
  return [...names.map((name) => `cookie: ${name}`), ...marks];
}

function settings(): string[] {
  const rows = settingNames.map((name) => `setting: ${name}, flag --${flagOf(name)}, variable ${variableOf(name)}`);
  const others = inSources(/\b((?:POSTERN|OTEL)_[A-Z_]*[A-Z])\b(?=['\]=])/g).map((name) => `variable: ${name}`);
  return [...rows, ...others.filter((line) => !rows.some((row) => row.endsWith(line.replace(':', ''))))];
}

function errorCodes(): string[] {
  return errorTables.flatMap(({ rows }) =>
    Object.entries(rows).map(([code, { status }]) => `error code: ${code}, status ${status}`),
  );
}

/** The keys of object literals passed to a logger, and those of request lines. */
function logFields(): string[] {
  const isOfLogger = /\b\w*[lL]og(?:ger)?\b\??\.(?:trace|debug|info|warn|error|fatal)\(\s*/g;
  const logged = files.flatMap(({ text }) => keysOfObjects(text, isOfLogger));
  const access = files
    .filter(({ path }) => path.endsWith('/access-log.ts'))
    .flatMap(({ text }) => keysOfObjects(text, /\breturn\s+/g));
  return [...logged, ...access].map((field) => `log field: ${field}`);
}

/** Optional fields end in a question mark. */
function tunnelMessages(): string[] {
  const isMessage = /\bType\.Object\(\s*(?=\{\s*t: Type\.Literal\(')/g;
  return files
    .filter(({ path }) => path.startsWith('src/tunnel/protocol/'))
    .flatMap(({ text }) =>
      Array.from(text.matchAll(isMessage), (match) => {
        const body = text.slice(match.index);
        const [, type = ''] = /Type\.Literal\('(\w+)'\)/.exec(body) ?? [];
        const fields = keysOfObjects(body, new RegExp(isMessage.source, 'y'));
        return fields.map((field) => {
          const isOptional = new RegExp(`\\b${field}: Type\\.Optional`).test(body.slice(0, body.indexOf('\n});') + 1));
          return `tunnel message: ${type}.${field}${isOptional ? '?' : ''}`;
        });
      }).flat(),
    );
}

/** Metrics with their labels, and the shape of the ready line, as a server with every role has them. */
async function namesOfARunningServer(): Promise<string[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'postern-names-'));
  const spy = mock.method(Registry.prototype, 'registerMetric');
  const lines: string[] = [];
  const metricLines: string[] = [];
  try {
    const server = await startServer(loadConfig({ flags: new Map(), env: everyRole(dataDir) }).config, {
      logDestination: { write: (text) => lines.push(...text.trimEnd().split('\n')) },
    });
    // The API's own histogram shows its labels only once it has counted something.
    await fetch(`${server.baseUrl}/edges/https`, { headers: { authorization: `Bearer ${API_KEY}` } });
    for (const {
      arguments: [metric],
    } of spy.mock.calls)
      metricLines.push(await metricLine(metric));
    await server.close();
  } finally {
    spy.mock.restore();
    await rm(dataDir, { recursive: true, force: true });
  }
  const ready = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find(({ msg }) => msg === 'ready');
  return [...metricLines.filter((line) => line.includes(' postern_')), ...readyFields(ready ?? {}, '')];
}

function everyRole(dataDir: string): Record<string, string> {
  const anyPort = '127.0.0.1:0';
  return {
    POSTERN_DATA_DIR: dataDir,
    POSTERN_API_KEY: API_KEY,
    POSTERN_AUTHTOKEN: 'frozen-names-authtoken-0123456789abcdef',
    POSTERN_API_LISTEN: anyPort,
    POSTERN_EDGE_LISTEN: anyPort,
    POSTERN_EDGE_HTTP_LISTEN: anyPort,
    POSTERN_TUNNEL_LISTEN: anyPort,
  };
}

async function metricLine(metric: Metric): Promise<string> {
  const { name, type, values } = await metric.get();
  const { labelNames = Object.keys(values[0]?.labels ?? {}) } = metric as { readonly labelNames?: readonly string[] };
  return `metric: ${name}, ${type}, labels [${labelNames.filter((label) => label !== 'le').join(', ')}]`;
}

function readyFields(value: Readonly<Record<string, unknown>>, prefix: string): string[] {
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? readyFields(inner as Record<string, unknown>, `${prefix}${name}.`)
      : [`ready line: ${prefix}${name}, ${Array.isArray(inner) ? 'list' : typeof inner}`],
  );
}
