import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `npm run sbom [FILE]`: the bill of materials of a release (CycloneDX), from `npm sbom`: every package that the
 * program loads, and the Node that the single executable contains.
 */
const root = fileURLToPath(new URL('..', import.meta.url));

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly unknown[];
}

interface Sbom {
  serialNumber?: string;
  metadata: { component: Component; timestamp?: string };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const { name, version, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  name: string;
  version: string;
  dependencies: Readonly<Record<string, string>>;
};

const flags = ['--package-lock-only', '--workspaces=false', '--sbom-format=cyclonedx', '--sbom-type=application'];
const printed = execFileSync('npm', ['sbom', ...flags], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
const sbom = JSON.parse(printed.toString()) as Sbom;

// `npm sbom --omit dev` leaves out packages that a development tool needs as well, such as jose and pg (npm 11.19).
const reached = reachable(Object.entries(dependencies).map(([dependency, pinned]) => `${dependency}@${pinned}`));
const node: Component = {
  'bom-ref': `node@${process.versions.node}`,
  type: 'platform',
  name: 'node',
  version: process.versions.node,
  licenses: [{ license: { id: 'MIT' } }],
};
// npm names the project after its folder.
const product = { ...sbom.metadata.component, name };
sbom.metadata.component = product;
sbom.components = [...sbom.components.filter((component) => reached.has(component['bom-ref'])), node];
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => reached.has(ref) || ref === product['bom-ref'])
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => reached.has(each)) }));

const problems = sbom.components.flatMap((component) => [
  ...(component.licenses === undefined ? [`${component['bom-ref']} has no license`] : []),
  ...(component.hashes === undefined && component !== node ? [`${component['bom-ref']} has no hash`] : []),
]);
for (const ref of reached) {
  if (!sbom.components.some((component) => component['bom-ref'] === ref)) problems.push(`${ref} is missing`);
}
if (problems.length > 0) {
  console.error(`sbom: ${problems.join(', ')}`);
  process.exit(1);
}
// The same for the same packages: npm gives each run a number and a time of its own.
delete sbom.serialNumber;
delete sbom.metadata.timestamp;
sbom.serialNumber = `urn:uuid:${contentUuid(JSON.stringify(sbom))}`;
const output = process.argv[2] ?? join(root, 'dist', `postern-${version}.cdx.json`);
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, `${JSON.stringify(sbom, null, 2)}\n`);
console.log(`wrote ${output}: ${sbom.components.length} components`);

/** RFC 9562, version 8: bits from a hash. */
function contentUuid(content: string): string {
  const bytes = createHash('sha256').update(content).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function reachable(start: readonly string[]): ReadonlySet<string> {
  const graph = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const found = new Set(start);
  for (const ref of found) for (const next of graph.get(ref) ?? []) found.add(next);
  return found;
}
