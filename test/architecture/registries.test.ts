import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backendRecordKinds } from '../../src/backends/record-kinds.ts';
import { backends } from '../../src/backends/registry.ts';
import { destinationKinds } from '../../src/control/events/destinations/registry.ts';
import { backendResources } from '../../src/control/resources/backend-resources.ts';
import { resourcesOfEdges } from '../../src/control/resources/edge-resources.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { edgeKinds } from '../../src/edges/registry.ts';
import { modules } from '../../src/modules/registry.ts';
import { sharedRuntimes } from '../../src/modules/reserved-names.ts';
import { dnsProviders } from '../../src/proxy/dns/providers/registry.ts';
import { consoleFiles, filesIn, MODULE_CONTRACT, productFiles, projectRoot } from './source-files.ts';

/** A tunnel's document shows the tunnel groups that it serves: a fact of the API, and not of every kind. */
const MAY_NAME_A_KIND = new Set(['src/control/resources/tunnels/tunnels.ts']);

/** Files outside `src/modules` that name a module, with the reason why each must. */
const MAY_NAME_A_MODULE: Readonly<Record<string, string>> = {
  'src/tunnel/agent/inspector/sensitive-headers.ts': "not the module: the name of Amazon's header",
  'src/control/api/openapi/headers.ts': 'the example of a header whose values begin with the name of a module',
  'src/control/findings/facts.ts':
    'checks look at the authorities of clients, the issuers of logins and whether addresses are limited, in either form',
  'src/app/cli/edge/edge-arguments.ts':
    'the flag for a provider has the name of the protocol; names the command that removes passwords',
  'src/app/cli/import/caddy/caddy-handlers.ts': "not the module: a field of Caddy's reverse proxy",
  'src/app/cli/import/caddy/caddy-routes.ts': 'tells users of Caddy which module asks for passwords',
  'src/app/cli/import/frp/convert-proxy.ts': 'tells users of frp which module replaces what Postern lacks',
  'src/app/cli/import/ngrok-agent/convert-tunnel.ts':
    "another agent's options and passwords: each becomes a certain module",
  'src/app/cli/import/ngrok-agent/import-ngrok-agent.ts':
    "another agent's policies: one of them becomes a certain module",
  'src/app/cli/import/ngrok/convert-documents.ts': "another service's modules: what to note differs by module",
  'src/app/cli/import/ngrok/lost-restrictions.ts': 'tells users of another service which module replaces theirs',
  'src/app/cli/import/ngrok/read-dump.ts': 'tells users of another service which module replaces theirs',
  'src/app/cli/other-words.ts': 'names the flag for passwords to people who know other programs',
  'src/control/console/open-console.ts': 'not the module: a field that the page reads, named after the protocol',
  'src/client/publish/plan-parts.ts': 'a published site that is open to addresses only has this module',
  'src/client/publish/edge-login.ts': 'a published site has one login module',
  'src/control/resources/oidc_clients/oidc-clients.ts': 'tells that routes need no client: the module is one by itself',
  'src/client/publish/plan-edge.ts': 'names the commands that change addresses and headers',
  'src/edges/https/https-routes.ts': 'tells users of another service which module replaces theirs',
  'src/control/resources/registry.ts': 'not the module: a folder that is named after the protocol',
  'src/control/identity/provider/create-provider.ts': "not the module: a field of the library's context",
  'src/app/main/problems.ts':
    'a composition root: which records would end a start, those of guests and programs included',
  'src/app/main/address-lists.ts': 'a composition root: loads lists with the settings that the module declares',
  'src/app/main/data-plane/traffic.ts': 'a composition root: a site that the module pauses does not fail',
  'src/app/main/people/route-clients.ts': 'a composition root: derives clients from the configuration of the module',
  'src/app/main/people/console-people.ts': 'a composition root: gives the console the rules that the module has',
};
/**
 * Files of the console outside `console/src/modules` that name a module, with the reason why each must. The page is
 * built without the code of the server, so what it has of a module is in a folder there.
 */
const PAGE_MAY_NAME_A_MODULE: Readonly<Record<string, string>> = {
  'console/src/api/session.ts': 'not the module: a field of the login to the console, named after the protocol',
  'console/src/pages/login/login-page.tsx': 'not the module: a field of the login to the console',
  'console/src/schema/json-schema.ts': 'not the module: an abbreviation that labels write in capitals',
  'console/src/components/module-card.tsx': 'imports the form for addresses, which replaces that of the schema',
  'console/src/pages/sites/draft-of-site.ts': 'reads who may enter a site back into the form of a site',
  'console/src/pages/sites/entry-text.ts': 'says in a sentence who may enter a site',
  'console/src/pages/sites/site-health.tsx': 'a site that is paused has this module',
  'console/src/pages/sites/site-pause.tsx': 'a site is paused with this module',
};
/** Pages about all modules, each written by hand, with the reason why. */
const PAGES_ABOUT_ALL_MODULES: Readonly<Record<string, string>> = {
  'docs/README.md': 'links every page, and so the README of every module',
  'docs/concepts.md': 'says in a sentence what each module does',
};

/** Files outside of `src/edges/https` that name the HTTPS edge, with the reason why each must: at most 15. */
const MAY_NAME_THE_HTTPS_EDGE: Readonly<Record<string, string>> = {
  'src/edges/registry.ts': 'the line of the kind',
  'src/client/sites.ts': 'the one place where commands and pages for sites name it',
  'src/control/resources/guest_links/guest-links.ts': 'a guest link is deleted with a route, and its example has ids',
  'src/control/resources/changes/changes.ts': 'an example in the documentation',
  'src/control/resources/changesets/changesets.ts': 'an example in the documentation',
  'src/control/resources/search/search.ts': 'an example in the documentation',
  'src/control/api/docs/page-sections.ts': 'an example in the documentation',
  'src/control/api/openapi/subjects.ts': 'an example in the documentation',
  'src/app/cli/configuration/export-command.ts': 'an example in the help',
  'src/app/cli/events/events-command.ts': 'an example in the help',
  'src/app/cli/import/ngrok/read-dump.ts': "another service's name of its list",
  'src/app/cli/import/ngrok/lost-restrictions.ts': "another service's name of its list",
};
/** Folders of modules that share code without state. */
const SHARED_CODE = ['path_rules'];

/** Also ordinary words in code, so that only imports show that a file means the module. */
const ORDINARY_WORDS = new Set([
  'backend',
  'compression',
  'access',
  'redirect',
  'rewrite',
  'request_headers',
  'response_headers',
]);

function foldersIn(path: string): string[] {
  return readdirSync(join(projectRoot, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

function moduleFolders(): string[] {
  return foldersIn('src/modules').filter((name) => MODULE_CONTRACT !== `src/modules/${name}/`);
}

test('every module folder is registered under its own name, and the reverse', () => {
  const shared = sharedRuntimes(modules).map(({ name }) => name);
  assert.deepEqual(moduleFolders(), [...modules.map((module) => module.name), ...shared, ...SHARED_CODE].sort());
});

test('every resource folder is registered under its own name, and the reverse', () => {
  const derived = new Set([...backendResources, ...resourcesOfEdges(edgeKinds)].map(({ name }) => name));
  const names = resources.map((resource) => resource.name).filter((name) => !derived.has(name));
  assert.deepEqual(foldersIn('src/control/resources'), names.sort());
});

test('a resource names the ports that it uses, never the whole bag', () => {
  const wrong = productFiles()
    .filter(({ path }) => /^src\/control\/resources\/[^/]+\//.test(path))
    .filter(({ text }) => /(?<!Pick<)\bSharedPorts\b(?!\[|[\w, ]* \} from)|\b(Resource|Operation)Ports\b/.test(text));
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('every kind of edge, backend and destination has a folder of its name', () => {
  assert.deepEqual(foldersIn('src/edges'), edgeKinds.map((kind) => kind.name).sort());
  assert.deepEqual(foldersIn('src/backends'), backends.map((backend) => backend.name).sort());
  assert.deepEqual(foldersIn('src/control/events/destinations'), destinationKinds.map((kind) => kind.name).sort());
});

test('every DNS provider has a folder of its name, with a definition, tests and a README', () => {
  assert.deepEqual(foldersIn('src/proxy/dns/providers'), dnsProviders.map(({ name }) => name).sort());
  for (const { name } of dnsProviders) {
    const there = filesIn(`src/proxy/dns/providers/${name}/*`).map((path) => path.split('/')[5]);
    for (const file of ['README.md', `${name}.ts`]) assert.ok(there.includes(file), `${name} lacks ${file}`);
    // The hook is tested where its processes are.
    assert.ok(there.includes(`${name}.test.ts`) || name === 'hook', `${name} has no test`);
  }
});

test('every kind of edge has a definition and a README named after its folder', () => {
  for (const { name } of edgeKinds) {
    const there = filesIn(`src/edges/${name}/*`).map((path) => path.split('/')[3]);
    for (const file of ['README.md', `${name}.ts`]) assert.ok(there.includes(file), `${name} lacks ${file}`);
  }
});

test('every backend kind has a definition, tests and a README named after its folder', () => {
  for (const { name } of backends) {
    const file = name.replaceAll('_', '-');
    const there = filesIn(`src/backends/${name}/*`).map((path) => path.split('/')[3]);
    const wanted = ['README.md', `${file}.ts`, `${file}.test.ts`];
    assert.deepEqual(
      wanted.filter((path) => !there.includes(path)),
      [],
      name,
    );
  }
});

/** A library, and a class about tunnels, that are called like modules. */
const OTHER_NAMES = /'oidc-provider'|tunnel-circuit-breaker/g;

/** As the record and the field are called, and as the flags of commands are. */
const MODULE_NAME = new RegExp(
  `(?<![a-z_])(${modules
    .map(({ name }) => name)
    .filter((name) => !ORDINARY_WORDS.has(name))
    .flatMap((name) => [name, name.replaceAll('_', '-')])
    .join('|')})(?![a-z_])`,
);

function namesAModule(text: string): boolean {
  return MODULE_NAME.test(withoutComments(text).replaceAll(OTHER_NAMES, ''));
}

test('modules are named in their folders, in the registry and where a reason is listed', () => {
  const folder = new RegExp(`^src/modules/(${modules.map((module) => module.name).join('|')})/`);
  const elsewhere = productFiles()
    .filter(({ path }) => !path.startsWith('src/modules/') && !path.includes('/generated/'))
    .filter(({ text, imports }) => namesAModule(text) || imports.some(({ target }) => folder.test(target)));
  // Exactly these: a file that no longer names one leaves the list.
  assert.deepEqual(elsewhere.map(({ path }) => path).sort(), Object.keys(MAY_NAME_A_MODULE).sort());
});

test('the console names modules in a folder of each, in the registry there and where a reason is listed', () => {
  const shown = foldersIn('console/src/modules');
  const known = [...modules.map(({ name }) => name), ...SHARED_CODE];
  assert.deepEqual(
    shown.filter((name) => !known.includes(name)),
    [],
  );
  const elsewhere = consoleFiles()
    .filter(({ path }) => !/^console\/src\/modules\/(registry\.tsx$|\w+\/)/.test(path))
    .filter(({ text }) => namesAModule(text));
  assert.deepEqual(elsewhere.map(({ path }) => path).sort(), Object.keys(PAGE_MAY_NAME_A_MODULE).sort());
});

test('the pages about all modules name each', () => {
  for (const page of Object.keys(PAGES_ABOUT_ALL_MODULES)) {
    const text = readFileSync(join(projectRoot, page), 'utf8');
    const missing = modules.filter(({ name }) => !text.includes(`src/modules/${name}/README.md`));
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
      page,
    );
  }
});

test('kinds of backends are named in their folders only', () => {
  const elsewhere = productFiles()
    .filter(({ path }) => !path.startsWith('src/backends/') && !path.includes('/generated/'))
    .filter(({ path }) => !MAY_NAME_A_KIND.has(path))
    .filter(({ text }) => backendRecordKinds.some((kind) => text.includes(`'${kind}'`)));
  assert.deepEqual(
    elsewhere.map(({ path }) => path),
    [],
  );
});

test('the HTTPS edge is named in its folder, and where a reason is listed', () => {
  const elsewhere = [...productFiles(), ...consoleFiles()]
    .filter(({ path }) => !path.startsWith('src/edges/https/') && !path.includes('/generated/'))
    .filter(
      ({ text, imports }) =>
        /https_edge|[hH]ttpsEdge|edges\/https|\bedghts/.test(withoutComments(text)) ||
        imports.some(({ target }) => target.startsWith('src/edges/https/')),
    );
  // Exactly these: a file that no longer names it leaves the list.
  assert.deepEqual(elsewhere.map(({ path }) => path).sort(), Object.keys(MAY_NAME_THE_HTTPS_EDGE).sort());
  assert.ok(elsewhere.length <= 15, 'say it of kinds of edges: see docs/internals/writing-a-kind-of-edge.md');
});

test('every module and every destination kind has a README', () => {
  const readmes = filesIn('src/modules/*/README.md').map((path) => path.split('/')[2]);
  assert.deepEqual(readmes, moduleFolders());
  const kinds = filesIn('src/control/events/destinations/*/README.md').map((path) => path.split('/')[4]);
  assert.deepEqual(kinds, foldersIn('src/control/events/destinations'));
});

test('id prefixes, kinds and paths are unique', () => {
  for (const field of ['kind', 'path', 'name'] as const) {
    const values = resources.map((resource) => resource[field]);
    assert.equal(new Set(values).size, values.length, field);
  }
  const prefixes = resources.map((resource) => resource.idPrefix).filter((prefix) => prefix !== '');
  assert.equal(new Set(prefixes).size, prefixes.length);
});

test('mutual TLS comes before addresses, addresses before login, login before the backend', () => {
  const order = modules.map((module) => module.name);
  const wanted = ['mutual_tls', 'ip_restriction', 'oidc', 'compression', 'backend'];
  assert.deepEqual(
    order.filter((name) => wanted.includes(name)),
    wanted,
  );
});

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}
