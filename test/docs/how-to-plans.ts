import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { FakeEngine } from '../cli/docker/fake-engine.ts';
import { execute, startPostgres } from '../support/postgres.ts';
import { startServerProcess } from '../support/server-process.ts';
import { firstOf } from '../support/share-of-cases.ts';
import { readPage, type ShellBlock } from './markdown.ts';
import type { PageRun, Reader, Treatment } from './reader.ts';
import { replaceBySignal, replaceServer } from './replace-server.ts';
import { changeSites, startWithSites } from './sites-server.ts';
import type { Terminal } from './terminal.ts';

export interface Plan {
  readonly blocks: readonly Treatment[];
  /** Typed first: prerequisites of the page, such as an edge of the reader. */
  readonly setup?: string;
  /** Only `npm run test:long` follows it, because `npm test` runs its commands in this test. */
  readonly alsoRunBy?: string;
}

const quiet = /^/;
const postern = 'postern() { node bin/postern.mjs "$@"; }';

/** Services are installed into an image: this machine may lack systemd, and must stay as it is. */
const SUDO = 'sudo() { if [ "$1" = postern ]; then shift; postern "$@" --root image; fi; }';

/** A machine with both services, in an image. */
const SUDO_OF_IMAGE = `sudo() {
  local program=$1; shift
  if [ "$program" = postern ]; then postern "$@" --root image; else "$program" "\${@/#\\//image/}"; fi
}
mkdir -p image/etc/postern image/var/lib/private/postern image/var/lib/other; ln -s private/postern image/var/lib/postern
touch image/etc/postern/agent.yaml
sudo postern service install; sudo postern service install agent`;

/** Files of the machine, in an image. */
const FILES_OF_IMAGE = `mkdir -p image/etc/postern
sudo() { local program=$1; shift; "$program" "\${@/#\\//image/}"; }`;

/** The new program is the same one here. */
const UPGRADE = `printf '#!/bin/sh\\nexec node bin/postern.mjs "$@"\\n' > postern-new; chmod +x postern-new
sudo() { :; }`;

/** Requests of the test itself: the CLI would take ten times as long. */
const request = `request() {
  curl -sSf -X "$1" "$POSTERN_CLI_API_URL$2" -H "Authorization: Bearer $POSTERN_CLI_API_KEY" -H 'Service-Version: 2' \\
    -H 'Content-Type: application/json' \${3:+-d "$3"}
}`;

/** An edge of the reader, who types its names as the pages say. */
const ownEdge = (host: string): string => `${postern}
${request}
create() { request POST "$1" "$2" | grep -o '"id":"'"$3"'_[^"]*' | head -n 1 | cut -d '"' -f 4; }
BACKEND=$(create /backends/http_response '{"body":"ok"}' bkdhr)
EDGE_ID=$(create /edges/https '{"hostports":["${host}:7443"]}' edghts)
create "/edges/https/$EDGE_ID/routes" '{"match_type":"path_prefix","match":"/","backend":{"backend_id":"'"$BACKEND"'"}}' edghtsrt
EDGE=${host} ROUTE=${host}/`;
const withoutEdge = 'request DELETE "/edges/https/$EDGE_ID"';

export const howToPlans: Readonly<Record<string, Plan>> = {
  'docs/how-to/back-up-and-restore.md': {
    alsoRunBy: 'test/e2e/process/store-command.test.ts',
    setup: ownEdge('kept.localhost'),
    blocks: [{ run: quiet }, { run: quiet }, { run: quiet }, { custom: restoreWithPassphrase }],
  },
  'docs/how-to/rotate-the-secret-key.md': {
    alsoRunBy: 'test/e2e/process/store-command.test.ts',
    // The reader's server runs; the copy restored by the previous page is stopped.
    setup: 'export POSTERN_DATA_DIR=restored; OLD=$(cat restored/secret.key)',
    blocks: [{ custom: rotate }],
  },
  'docs/how-to/change-several-things-at-once.md': {
    alsoRunBy: 'test/changes/changesets.test.ts',
    blocks: [{ run: /dry_run[\s\S]*true/ }, { run: /revision/ }, { run: /revision/ }],
  },
  'docs/how-to/keep-the-configuration-in-git.md': {
    alsoRunBy: 'test/cli/configuration.test.ts',
    blocks: [
      { run: quiet },
      { run: /the file is valid/ },
      { run: /\+ https_edge git.localhost[\s\S]*3 added/ },
      // A slow machine also gets a line on the progress.
      { run: /applied: 3 added \(revision \d+\)\n(?:postern: read .*\n)?nothing to do/ },
      { run: /applied: 2 removed/ },
    ],
  },
  'docs/how-to/keep-the-sites-in-a-file.md': {
    alsoRunBy: 'test/changes/sites.test.ts',
    blocks: [{ run: /the file is valid/ }, { custom: startWithSites }, { custom: changeSites }],
  },
  'docs/how-to/undo-a-change.md': {
    alsoRunBy: 'test/cli/changes.test.ts',
    blocks: [
      { run: /updated ip_policy (home|office)/ },
      { run: /description: "office" -> "home"/ },
      { run: /is undone by revision \d+/ },
      { run: /the history is intact/ },
    ],
  },
  'docs/how-to/use-a-circuit-breaker.md': {
    alsoRunBy: 'test/cli/every-operation.test.ts',
    setup: ownEdge('breaker.localhost'),
    blocks: [{ run: /volume_threshold +20/ }, { run: /closed/ }, { run: /state +closed/ }],
  },
  'docs/how-to/get-alerts.md': {
    blocks: [{ run: quiet }, { run: /alert_raised\.v0/ }],
  },
  'docs/how-to/serve-a-folder.md': {
    setup: postern,
    blocks: [
      { run: /\+ backend \/srv\/www\/docs[\s\S]*https:\/\/docs\.localhost:7443/ },
      { skip: 'test/up/folder.test.ts runs it' },
      { run: /fallback +index\.html/ },
      {
        skip: 'test/cli/agent-flags.test.ts reads these flags, and test/tunnel/traffic/folder.test.ts serves a folder',
      },
    ],
  },
  'docs/how-to/pause-a-site.md': {
    setup: ownEdge('shop.example.com'),
    blocks: [
      { run: /We are back at noon/ },
      { run: /outcome {2}503 ERR_POSTERN_MAINTENANCE[\s\S]*let_through[\s\S]*outcome {2}200/ },
      { run: /allow_cidrs +-/ },
      { run: /204/ },
    ],
  },
  'docs/how-to/try-a-risky-change.md': {
    blocks: [
      { run: /confirm_by/ },
      { run: /is reverted at 20\S+Z unless you confirm it/ },
      { run: /is confirmed and stays/ },
    ],
  },
  'docs/how-to/manage-api-keys.md': {
    alsoRunBy: 'test/e2e/process/store-command.test.ts',
    blocks: [{ run: /edges:read/ }, { run: /deploy job/ }, { custom: createKeyOffline }],
  },
  // The edge of an earlier page is younger than seven days.
  'docs/reference/filters.md': { blocks: [{ run: /"https_edges":\[\{/ }] },
  'docs/reference/live.md': { blocks: [{ run: /"topic":"overview"/ }] },
  'docs/how-to/use-the-console.md': {
    alsoRunBy: 'test/console',
    blocks: [{ run: /^http.*\/console$/m }, { run: /\*:read/ }, { run: quiet }],
  },
  'docs/how-to/monitor-a-server.md': {
    blocks: [{ run: /"status":"ready"/ }, { run: /^postern_store_up 1$/m }, { custom: runDoctorAsJson }],
  },
  'docs/how-to/find-out-why-a-request-got-its-response.md': {
    setup: ownEdge('why.localhost'),
    blocks: [
      { run: /GET why\.localhost\/cart {2}→ {2}200[\s\S]*http_response/ },
      { run: /200 {2}GET {3}why\.localhost\/cart/ },
      { run: /no_login[\s\S]*outcome {2}200/ },
    ],
  },
  'docs/how-to/upgrade-without-downtime.md': {
    alsoRunBy: 'test/handover/restart-command.test.ts',
    blocks: [{ custom: replaceServer }, { custom: replaceBySignal }],
  },
  'docs/how-to/stop-and-drain.md': {
    alsoRunBy: 'test/e2e/process/life.test.ts',
    blocks: [{ run: /drain_delay: "?12s[\s\S]*shutdown_timeout: "?30s/ }],
  },
  'docs/how-to/run-behind-a-proxy.md': {
    alsoRunBy: 'test/edge/proxy-protocol',
    blocks: [
      { custom: printProxyConfig },
      { custom: printBalancedConfig },
      { run: /postern_proxy_protocol_refusals_total/ },
    ],
  },
  'docs/how-to/see-traces.md': {
    blocks: [
      { run: /otel_endpoint: http:\/\/127\.0\.0\.1:4318[\s\S]*otel_sample_ratio: 0\.1 / },
      { run: /otel_sample_ratio: 0 # variable OTEL_TRACES_SAMPLER\n/ },
      { run: /^postern_otel_queued_spans 0$/m },
    ],
  },
  'docs/how-to/set-limits.md': {
    alsoRunBy: 'test/e2e/process/configuration.test.ts',
    blocks: [{ run: /edge_request_timeout: "?5m[\s\S]*edge_requests_in_flight: 2000/ }],
  },
  'docs/how-to/use-several-cores.md': { alsoRunBy: 'test/workers', blocks: [{ run: /workers: "?auto/ }] },
  'docs/how-to/redirect-visitors.md': {
    alsoRunBy: 'test/edge/modules/redirect.test.ts',
    setup: ownEdge('example.com'),
    blocks: [
      { run: /status_code=301/ },
      { run: /outcome {2}301 to https:\/\/example\.com\/shop\?item=1/ },
      { run: /item-/ },
      { run: /match=\/api\// },
    ],
  },
  'docs/how-to/change-which-headers-pass.md': { alsoRunBy: 'test/edge/headers', blocks: [{ run: /x-forwarded-\*/ }] },
  'docs/how-to/trust-the-internal-ca.md': {
    alsoRunBy: 'test/cli/ca.test.ts',
    blocks: [{ run: quiet }, { run: /Firefox/ }],
  },
  'docs/how-to/get-public-certificates.md': {
    alsoRunBy: 'test/acme',
    blocks: [
      { run: /acme: "?on[\s\S]*acme_email: you@example\.com/ },
      { run: quiet },
      { run: /intranet\.example\.com[\s\S]*old-clients\.example\.com/ },
      { run: /acme_directory:[\s\S]*ca\.example\.com/ },
    ],
  },
  'docs/how-to/get-wildcard-certificates.md': {
    alsoRunBy: 'test/acme',
    setup: FILES_OF_IMAGE,
    blocks: [
      { run: quiet },
      { run: /acme_dns: .*cloudflare.*env:CLOUDFLARE_TOKEN/ },
      { run: /present TXT _acme-challenge\.example\.com example-value/ },
    ],
  },
  'docs/how-to/use-your-own-certificate.md': {
    alsoRunBy: 'test/edge/tls',
    setup: `openssl req -x509 -newkey rsa:2048 -nodes -days 90 -subj /CN=own.localhost -addext subjectAltName=DNS:own.localhost -keyout privkey.pem -out fullchain.pem 2>/dev/null`,
    blocks: [{ run: /own\.localhost/ }, { run: /own\.localhost/ }, { run: /certificate_file_dirs:[\s\S]*letsencrypt/ }],
  },
  'docs/how-to/require-client-certificates.md': {
    alsoRunBy: 'test/edge/tls',
    setup: ownEdge('app.localhost'),
    blocks: [
      { run: quiet },
      { run: /certificate_authorit/ },
      { custom: presentCertificate },
      { custom: revokeWithOpenssl },
      { custom: uploadList },
      { run: /crl_url +http:\/\/crl\.example\.com/ },
    ],
  },
  'docs/how-to/restrict-access-by-ip-address.md': {
    alsoRunBy: 'test/cli/edge.test.ts',
    setup: ownEdge('office.example.com'),
    blocks: [
      { custom: restrict },
      { run: /ip_restriction: address[\s\S]*403/ },
      { run: /action +deny/ },
      { run: /ip_policies +ipp_/ },
      { run: /204/ },
    ],
  },
  'docs/how-to/limit-requests.md': {
    alsoRunBy: 'test/edge/modules/rate-limit.test.ts',
    setup: ownEdge('limits.localhost'),
    blocks: [
      { run: /enforce +false/ },
      { run: /enforce +true/ },
      { run: /limits\[0\] by address: 20/ },
      { run: /header:x-api-key/ },
      { run: quiet },
    ],
  },
  'docs/how-to/block-countries-and-lists.md': {
    alsoRunBy: 'test/edge/lists/lists.test.ts',
    setup: ownEdge('lists.localhost'),
    blocks: [{ run: quiet }, { run: /enforce +true/ }, { run: /countries +KP, RU|KP/ }, { run: /error/ }],
  },
  'docs/how-to/let-a-ci-job-in.md': {
    alsoRunBy: 'test/access/programs.test.ts',
    setup: ownEdge('deploy.localhost'),
    blocks: [{ run: quiet }, { run: /sa_/ }, { run: /^ok$/m }, { custom: deactivateProgram }, { run: /acme\/app/ }],
  },
  'docs/how-to/let-only-my-team-in.md': {
    setup: ownEdge('team.localhost'),
    blocks: [
      { run: /enforce +false/ },
      { run: /allowed: allow\[0\] lets this account in\./ },
      { run: /0 people: 0 allowed, 0 refused/ },
      { run: /enforce +true/ },
    ],
  },
  'docs/how-to/protect-a-site-with-a-password.md': {
    alsoRunBy: 'test/cli/edge.test.ts',
    setup: ownEdge('staging.example.com'),
    blocks: [
      { run: /\+ passwords? of staging/ },
      { run: /username=staging, password=-/ },
      { run: /\+ password of kim/ },
      { run: /username=kim, password=-[\s\S]*realm +Staging/ },
      { run: /204/ },
      { run: /NAME:PASSWORD/ },
    ],
  },
  'docs/how-to/invite-people.md': {
    alsoRunBy: 'test/cli/users.test.ts',
    blocks: [
      { run: /^https:\/\/id\.localhost:7443\/invitation\?invite=postern_ui_/m },
      { run: /ana@example\.com .*ops/ },
      { run: /invitation\?invite=/ },
      { run: /logged out everywhere\n.*disabled and logged out\n.*enabled\n.*deleted/ },
      { run: /admin@id\.localhost/ },
    ],
  },
  'docs/how-to/let-another-application-log-people-in.md': {
    alsoRunBy: 'test/cli/every-operation.test.ts',
    blocks: [
      { run: /client_secret: postern_oc_/ },
      { run: /client_secret: null/ },
      { run: /https:\/\/wiki\.example\.com\/logout/ },
      { run: quiet },
    ],
  },
  'docs/how-to/let-a-guest-in.md': {
    alsoRunBy: 'test/access/guests',
    setup: ownEdge('guest.localhost'),
    blocks: [
      { run: /guests/ },
      { run: /^https:\/\/guest\.localhost:\d+\/\.postern\/guest\?link=postern_gl_/m },
      { custom: useGuestLink },
      { run: quiet },
      { custom: revokeGuestLink },
    ],
  },
  'docs/how-to/connect-a-login-provider.md': {
    setup: `${ownEdge('login.localhost')}\nISSUER=http://127.0.0.1:9 CLIENT_ID=postern CLIENT_SECRET=secret`,
    blocks: [{ run: /issuer/ }],
  },
  'docs/how-to/log-in-with-github.md': {
    alsoRunBy: 'test/login/oauth',
    setup: `${ownEdge('github.localhost')}\nCLIENT_ID=postern; echo secret > github-secret`,
    blocks: [{ run: /organizations/ }, { run: quiet }, { run: quiet }],
  },
  'docs/how-to/move-from-ngrok.md': {
    alsoRunBy: 'test/cli/import',
    blocks: [
      { skip: 'needs the retired API; test/cli/import has a copy of it' },
      // Without a fourth line: the first route keeps its backend.
      { run: /^Not carried over \(3\):[\s\S]*saml > idp_metadata[\s\S]*Wrote orders\.yaml/ },
      { run: /\/staff/ },
      { run: /Wrote postern-agent\.yaml: 3 tunnels/ },
    ],
  },
  'docs/how-to/connect-a-remote-agent.md': {
    setup: postern,
    blocks: [
      { run: /tunnel_names: \[?.*gateway\.example\.com/ },
      { custom: joinElsewhere },
      { custom: dialFromElsewhere },
      { run: /^postern_cr_\S+$/m },
    ],
  },
  'docs/how-to/set-up-an-app-behind-postern.md': {
    alsoRunBy: 'test/cli/edge.test.ts',
    setup: ownEdge('sync.example.com'),
    blocks: [
      { run: /\+ Host header localhost/ },
      { run: /the upstream gets[\s\S]*\+ host: localhost[\s\S]*x-forwarded-host: sync\.example\.com/ },
      { run: /- Host header localhost/ },
    ],
  },
  'docs/how-to/reach-a-tcp-service.md': {
    setup: postern,
    blocks: [
      { run: /tcp_ports: "?0\.0\.0\.0:20000-20099/ },
      { run: /^postern agent join pstn-/m },
      { custom: forwardGreeting },
      { skip: 'needs an SSH server, which test machines lack; the block above has a service that greets like one' },
      { custom: forwardPostgres },
      { skip: 'needs psql; the block above sends a query' },
      { custom: forwardTls },
      { skip: 'needs psql 17, and a PostgreSQL with a certificate' },
    ],
  },
  'docs/how-to/publish-containers-by-labels.md': {
    alsoRunBy: 'test/cli/docker/start-command.test.ts',
    setup: postern,
    blocks: [{ custom: createContainerToken }, { custom: checkContainerConfig }, { custom: followContainers }],
  },
  'docs/how-to/run-as-a-service.md': {
    alsoRunBy: 'test/install/service-install.test.ts',
    setup: `${postern}\n${SUDO}`,
    blocks: [
      { run: /^ExecStart=.*postern\.mjs server$/m },
      { custom: installService },
      { run: quiet },
      { run: /deleted .*postern\.service/ },
    ],
  },
  'docs/how-to/troubleshoot.md': { blocks: [{ custom: lookForCauses }] },
  'docs/how-to/uninstall.md': {
    setup: `${postern}\n${SUDO_OF_IMAGE}`,
    blocks: [
      { run: /deleted .*image\/etc\/systemd\/system\/postern\.service/ },
      { custom: deleteData },
      { run: /deleted .*image\/etc\/systemd\/system\/postern-agent\.service/ },
      { run: /postern_cr_|cr_\w+/ },
      { skip: 'run by test/install/compose-page.test.ts' },
    ],
  },
  'docs/how-to/upgrade.md': {
    alsoRunBy: 'test/cli/upgrade-check.test.ts',
    setup: `${postern}\n${UPGRADE}`,
    blocks: [
      { run: /migration +none: the store has schema version \d+/ },
      { run: /backed up \d+ records/ },
      { run: quiet },
      { custom: runDoctor },
    ],
  },
  'docs/how-to/run-the-agent-as-a-service.md': {
    alsoRunBy: 'test/install/service-install.test.ts',
    setup: `${SUDO}\nmkdir -p image/etc/postern; touch image/etc/postern/agent.yaml`,
    blocks: [{ custom: checkAgentConfig }, { run: /wrote .*postern-agent\.service/ }],
  },
  'docs/how-to/deliver-events-to-a-webhook.md': {
    setup: `${postern}\n${request}`,
    blocks: [
      { custom: createDestination },
      { run: /https_edge_created\.v0/ },
      { custom: testDestination },
      { custom: followEvents },
      { custom: signByHand },
    ],
  },
};

async function restoreWithPassphrase({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  await terminal.run(text);
  const tasks: (() => Promise<void>)[] = [];
  try {
    for (const folder of firstOf(['restored-complete', 'restored'])) {
      const copy = startServerProcess({ after: (task) => tasks.push(task) }, folder, {
        cwd: reader.folder,
        launcher: join(reader.folder, 'bin', 'postern.mjs'),
      });
      const { base_url: url } = await copy.ready();
      const output = await terminal.run(`postern api https-edges list --only hostports --api-url ${url}`);
      assert.equal(output.trim(), '["kept.localhost:7443"]', folder);
    }
  } finally {
    for (const task of tasks) await task();
  }
  await terminal.run(withoutEdge);
}

async function rotate({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  await terminal.run(text);
  assert.match(await terminal.run('[ "$OLD" != "$(cat restored/secret.key)" ] && echo rotated'), /rotated/);
}

async function createKeyOffline({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  assert.match(await terminal.run(`POSTERN_DATA_DIR=restored ${text}`), /postern_ak_/);
}

async function runDoctorAsJson({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const { api, edge, edge_http, tunnel } = reader.ready.addresses as unknown as Record<string, string>;
  const flags = `--api-listen ${api} --edge-listen ${edge} --edge-http-listen ${edge_http} --tunnel-listen ${tunnel}`;
  assert.match(await terminal.run(`${text.trim()} ${flags}`), /"ok":true/);
}

async function runDoctor(block: ShellBlock, page: PageRun): Promise<void> {
  await runDoctorAsJson({ ...block, text: `${block.text.trim()} --json` }, page);
}

async function lookForCauses({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const { api, edge, edge_http, tunnel } = reader.ready.addresses as unknown as Record<string, string>;
  const flags = `--api-listen ${api} --edge-listen ${edge} --edge-http-listen ${edge_http} --tunnel-listen ${tunnel}`;
  // Edges of other pages may have problems, which both commands report with their exit code.
  const typed = text
    .trim()
    .split('\n')
    .map((line) => (line.startsWith('postern ') ? `${line} || true` : line));
  const output = await terminal.run(typed.join('\n').replace('postern doctor', `postern doctor ${flags}`));
  assert.match(output, /Edges +\d[\s\S]*\d+ ok$/);
}

async function deleteData({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  await terminal.run(text);
  assert.equal(
    await terminal.run('ls -A image/etc image/var/lib image/var/lib/private'),
    [...['image/etc:', 'systemd', '', 'image/var/lib:', 'other', 'private', '', 'image/var/lib/private:']].join('\n'),
  );
}

async function printProxyConfig({ page, text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const yaml = /^```yaml\n([\s\S]*?)^```$/m.exec(readPage(page))?.[1] ?? '';
  await writeFile(join(reader.folder, 'postern-server.yaml'), yaml);
  assert.match(await terminal.run(text), /trusted_proxies: \["?10\.0\.0\.0\/8[\s\S]*edge_host_ports: \["?443/);
}

async function printBalancedConfig({ page, text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const [, yaml = ''] = Array.from(readPage(page).matchAll(/^```yaml\n([\s\S]*?)^```$/gm), ([, block]) => block);
  await writeFile(join(reader.folder, 'postern-balanced.yaml'), yaml);
  const printed = await terminal.run(text);
  assert.match(
    printed,
    /edge_listen: \["?0\.0\.0\.0:443"?, "\[::\]:443"\][\s\S]*proxy_protocol_from: \["?10\.0\.0\.5\/32/,
  );
}

async function presentCertificate({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  assert.match(await terminal.run(text), /^ok$/m);
  const bare = text.replace(' --cert alice.pem --key alice.key', ' -sS');
  assert.match(await terminal.run(`(${bare.trim().split('\n').at(-1)}) || echo rejected`), /rejected/);
}

async function revokeWithOpenssl({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  await terminal.run(`(${text.trim()}) 2> openssl.log`);
  assert.match(await terminal.run('openssl crl -in staff.crl -noout -text'), /Serial Number/);
}

async function uploadList({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  const visit = 'curl -sS --cacert postern-ca.pem --cert alice.pem --key alice.key https://app.localhost:7443/';
  assert.match(await terminal.run(visit), /^ok$/m);
  assert.match(await terminal.run(text), /crl_status +current/);
  assert.match(await terminal.run(`(${visit}) || echo rejected`), /rejected/);
  await terminal.run(withoutEdge);
}

/** The token of a deactivated account opens nothing. */
async function deactivateProgram({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  assert.match(await terminal.run(text), /active +(false|no)/);
  const curl = 'curl --cacert postern-ca.pem -H "Authorization: Bearer $TOKEN" https://deploy.localhost:7443/';
  assert.match(await terminal.run(curl), /token_inactive/);
}

async function useGuestLink({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  // As the button of the page does it.
  await terminal.run(`postern ca print > guest-ca.pem
guest() { curl -s --cacert guest-ca.pem -c guest-cookies -b guest-cookies "$@"; }
guest -H "Sec-Fetch-Site: same-origin" -d "link=\${URL#*=}" "\${URL%%\\?*}"
SITE=\${URL%%.postern*}`);
  assert.match(await terminal.run('guest "$SITE"'), /^ok$/m);
  assert.match(await terminal.run(text), /as_\w{27}/);
}

async function revokeGuestLink({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  await terminal.run(text);
  assert.match(await terminal.run('guest "$URL"'), /ERR_POSTERN_GUEST_LINK_REVOKED/);
  assert.match(await terminal.run('guest "$SITE"'), /ERR_POSTERN_ACCESS_LOGIN_NEEDED/);
}

async function restrict({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  assert.match(await terminal.run(text), /\+ access from 192\.0\.2\.0\/24, 203\.0\.113\.7\/32/);
  await terminal.run('postern ca print --other > office-ca.pem');
  const answer = await terminal.run('curl -s --cacert office-ca.pem https://office.example.com:7443/');
  assert.match(answer, /ERR_POSTERN_ADDRESS_NOT_ALLOWED/);
}

/** Another machine: a folder with nothing of the server's. */
function elsewhere(reader: Reader): Terminal {
  const folder = join(reader.folder, 'elsewhere');
  return reader.terminal({ HOME: folder, POSTERN_SERVER_ADDR: '', POSTERN_CLI_API_URL: '' }, folder);
}
const posternElsewhere = 'postern() { node ../bin/postern.mjs "$@"; }';

/** The reader pastes what the first command printed. */
async function joinElsewhere({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const output = await terminal.run(`mkdir elsewhere\n${text}`);
  const printed = /^postern agent join pstn-\S+$/m.exec(output)?.[0] ?? assert.fail(output);
  const other = elsewhere(reader);
  try {
    const joined = await other.run(`${posternElsewhere}\n${printed}`);
    assert.match(joined, /^postern http 3000 --domain app\.builds\.example\.com$/m);
    const again = await other.run(`${printed} --yes || true`);
    assert.match(again, /the invitation does not work/);
    assert.match(await other.run('stat -c %a .config/postern/agent.yaml'), /^600$/m);
  } finally {
    await other.close();
  }
}

async function dialFromElsewhere({ text }: ShellBlock, { reader }: PageRun): Promise<void> {
  const other = elsewhere(reader);
  try {
    await other.start(`${posternElsewhere}\n${text}`, /https:\/\/app\.builds\.example\.com:\d+/);
  } finally {
    await other.close();
  }
}

/** Follows a command of an agent until its address is there; the server chooses the port. */
async function withAgent(
  { text }: ShellBlock,
  reader: Reader,
  address: RegExp,
  use: (found: RegExpExecArray) => Promise<void>,
): Promise<void> {
  const agent = reader.terminal();
  try {
    const command = text.replace(/ --port \d+/, '').replace('198.51.100.0/24', '127.0.0.0/8');
    await use(address.exec(await agent.start(`${postern}\n${command}`, address)) ?? assert.fail());
  } finally {
    await agent.close();
  }
}
const TCP_ADDRESS = /tcp:\/\/127\.0\.0\.1:(\d+)/;

async function forwardGreeting(block: ShellBlock, { reader }: PageRun): Promise<void> {
  const service = createTcpServer((socket) => socket.end('SSH-2.0-test\r\n'));
  await new Promise<void>((resolve) => {
    service.listen(0, '127.0.0.1', resolve);
  });
  try {
    const { port } = service.address() as { port: number };
    const own = { ...block, text: block.text.replace('tcp 22 ', `tcp ${port} `) };
    await withAgent(own, reader, TCP_ADDRESS, async ([, publicPort]) => {
      const greeting = await textOf(connect(Number(publicPort), '127.0.0.1'));
      assert.equal(greeting, 'SSH-2.0-test\r\n');
    });
  } finally {
    service.close();
  }
}

async function forwardPostgres(block: ShellBlock, { reader }: PageRun): Promise<void> {
  const postgres = await startPostgres();
  try {
    const url = new URL(postgres.url);
    const own = { ...block, text: block.text.replace('tcp 5432 ', `tcp ${url.port} `) };
    await withAgent(own, reader, TCP_ADDRESS, async ([, publicPort = '']) => {
      url.hostname = '127.0.0.1';
      url.port = publicPort;
      await execute(url.href, 'SELECT 1');
    });
  } finally {
    await postgres.stop();
  }
}

async function forwardTls(block: ShellBlock, { reader }: PageRun): Promise<void> {
  await withAgent(block, reader, /tls:\/\/db\.example\.com:\d+ →/, () => Promise.resolve());
}

async function checkAgentConfig({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const yaml = /```yaml\n([\s\S]*?)```/.exec(readPage('docs/reference/agent.md'))?.[1] ?? '';
  await writeFile(join(reader.folder, 'postern-agent.yaml'), yaml);
  const output = await terminal.run(`${postern}\n${text.replace('/etc/postern/agent.yaml', 'postern-agent.yaml')}`);
  assert.match(output, /app\.example\.com/);
}

async function createContainerToken({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const output = await terminal.run(text);
  const token = /^postern_cr_\S+$/m.exec(output)?.[0] ?? '';
  assert.notEqual(token, '', output);
  await writeFile(join(reader.folder, 'agent-token'), token);
}

async function checkContainerConfig({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const page = readPage('docs/how-to/publish-containers-by-labels.md').replaceAll(/^ {3}/gm, '');
  const yaml = /```yaml\n(version[\s\S]*?)```/.exec(page)?.[1] ?? '';
  await writeFile(join(reader.folder, 'containers.yml'), yaml);
  const output = await terminal.run(text.replace('/etc/postern/agent.yaml', 'containers.yml'));
  assert.match(output, /login at the server's identity host, groups ops, support, public ones rejected/);
}

/** An engine without containers: test/long/containers.test.ts has a real one. */
async function followContainers({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const closings: (() => Promise<void>)[] = [];
  const engine = await FakeEngine.open({ after: (close) => void closings.push(close) });
  const TOKEN = (await readFile(join(reader.folder, 'agent-token'), 'utf8')).trim();
  const own = reader.terminal({
    DOCKER_HOST: `unix://${engine.socket}`,
    POSTERN_AUTHTOKEN: TOKEN,
    // The server is in the same folder. A token from the environment takes its CA only by this.
    POSTERN_DATA_DIR: 'postern-data',
  });
  try {
    await terminal.run(
      `sed -i 's/gateway.example.com:7444/${reader.env['POSTERN_SERVER_ADDR'] ?? ''}/' containers.yml`,
    );
    const command = text.replace('/etc/postern/agent.yaml', 'containers.yml');
    await own.start(`${postern}\n${command}`, /follows the containers of/);
  } finally {
    await own.close();
    for (const close of closings.reverse()) await close();
  }
}

async function installService({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  assert.match(await terminal.run(text), /wrote .*etc\/systemd\/system\/postern\.service/);
  const settings = await readFile(join(reader.folder, 'image/etc/postern/postern.env'), 'utf8');
  assert.match(settings, /^POSTERN_EDGE_LISTEN="0\.0\.0\.0:443"$/m);
}

/** The receiver ends with the page: the terminal is the last to use it. */
let received: { readonly headers: IncomingMessage['headers']; readonly body: string }[] = [];

async function createDestination({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  received = [];
  const receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.writeHead(204).end();
    });
  });
  receiver.unref();
  await new Promise<void>((resolve) => {
    receiver.listen(0, '127.0.0.1', resolve);
  });
  const { port } = receiver.address() as { port: number };
  await terminal.run(text.replace('https://hooks.example.com/postern', `http://127.0.0.1:${port}/postern`));
}

async function testDestination({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  await terminal.run(text);
  assert.equal(received.length, 1);
}

async function followEvents({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  const [tail = '', list = ''] = text.trim().split('\n');
  await terminal.run(
    `(while sleep 0.5; do request POST /edges/https '{"hostports":["seen'$RANDOM'.localhost:7443"]}'; done) > /dev/null 2>&1 & MAKER=$!`,
  );
  assert.match(await terminal.run(tail), /https_edge_created\.v0/);
  await terminal.run(`kill $MAKER; wait $MAKER || true\n${list}`);
}

async function signByHand({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const { target } = JSON.parse(await readFile(join(reader.folder, 'destination.json'), 'utf8')) as {
    target: { webhook: { secret: string } };
  };
  const [first] = received;
  assert.ok(first !== undefined);
  const id = String(first.headers['webhook-id']);
  const timestamp = String(first.headers['webhook-timestamp']);
  await writeFile(join(reader.folder, 'body'), first.body);
  const output = await terminal.run(`SECRET=${target.webhook.secret} ID=${id} TIMESTAMP=${timestamp}\n${text}`);
  const signature = `v1,${output.trim()}`;
  assert.equal(signature, first.headers['webhook-signature']);
  new Webhook(target.webhook.secret).verify(first.body, {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  });
}
