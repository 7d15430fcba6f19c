import { configurationSchema } from '../../src/control/configuration-file/json-schema.ts';
import { keyFieldOf } from '../../src/control/configuration-file/object-names.ts';
import { NOT_EXPORTED, sections } from '../../src/control/configuration-file/sections.ts';

export const name = 'configuration-file';

const SCHEMA_PATH = 'src/control/configuration-file/generated/schema.json';
const PAGE_PATH = 'docs/reference/configuration-file.md';
const secret = (from: string): string => `\`$\{${from}}\``;

/** The JSON Schema of the configuration file, and its reference page. */
export function generate(): Promise<Map<string, string>> {
  const schema = `${JSON.stringify(configurationSchema(), null, 1)}\n`;
  return Promise.resolve(
    new Map([
      [SCHEMA_PATH, schema],
      [PAGE_PATH, page()],
    ]),
  );
}

function page(): string {
  const kinds = sections.flatMap((section) =>
    section.kinds.flatMap((kind) => {
      const own = section.kinds.length > 1 ? `\`${section.key}\`, \`kind: ${kind.label}\`` : `\`${section.key}\``;
      const children = [...kind.children].map(
        ([field, child]) =>
          `| \`${field}\` in \`${section.key}\` | ${child.resource.description} | \`${keyFieldOf(child)}\` |`,
      );
      const modules = kind.modules.map((module) => `\`${module.name}\``).join(', ');
      const inline = modules === '' ? '' : ` Modules: ${modules}.`;
      return [`| ${own} | ${kind.resource.description}${inline} | \`${keyFieldOf(kind)}\` |`, ...children];
    }),
  );
  return `${[
    '# Configuration file',
    '',
    '<!-- Generated from the registries in src/ by "npm run generate". Do not edit. -->',
    '',
    'The format of `postern export`, `validate`, `plan` and `apply`, version 1. [Keep the configuration in git](../how-to/keep-the-configuration-in-git.md) shows its use. Files are YAML 1.2 in UTF-8, of at most 64 MiB, without anchors and aliases. Several files, or all `.yaml` and `.yml` files of a directory, are one configuration of at most 50,000 objects.',
    '',
    '| key | meaning |',
    '|---|---|',
    '| `version` | Required: `1`. |',
    '| `owner` | Who applies the files, such as `team-web`. The server remembers the objects of each owner beside them, for `--prune`; an object has one owner. |',
    '| a section | A map from names to objects: see below. |',
    '',
    '## Sections',
    '',
    'The fields of an object are those of the API, and all defaults are those of the API. `postern validate --schema` prints a JSON Schema with every field. The key of an object stands for the field in the last column, which can then be left out.',
    '',
    '| section | objects | key |',
    '|---|---|---|',
    ...kinds,
    '',
    '- The key of an edge is its first host: `app.example.com` stands for `hostports: ["app.example.com:443"]`.',
    '- The key of a route is its path. `match_type` is `path_prefix` unless the route says otherwise.',
    '- A static backend without a description is named by its address, and a tunnel group by its labels. An IP policy list without a description is named by its URL, its file or its countries, such as `DE,FR`. Any other object without a description has its kind as its name. Objects with the same name are numbered in the order of their ids: `web`, `web 2`. The second one then says `description: web`.',
    '- References are names: `backend: {backend: web}`, `ip_restriction: {ip_policies: [office]}`. A name that no file has may be one of the server; an id of the server works as well.',
    '- Modules are fields of their edge or route. `compression: {}` sets a module with its defaults.',
    '',
    'The files describe an object completely: a field, a module, a route or a rule that is not in the file is reset or removed. Other objects stay, unless `--prune` removes them.',
    '',
    '## Secrets',
    '',
    `The file never contains a secret. A field that is secret has ${secret('env:NAME')} or ${secret('file:PATH')} as its whole value; a path is relative to the file, and one line end at its end is removed. A secret that the file does not name stays as it is, and \`""\` removes it. Elsewhere such a text is an ordinary text.`,
    '',
    'A plan compares secrets without showing them. The server says whether a secret that nobody can read would change, to keys with the scope `secrets:read`. Other keys see "unknown", and applying the same secret changes nothing.',
    '',
    '## Not in the file',
    '',
    '| resource | why |',
    '|---|---|',
    ...[...NOT_EXPORTED].map(([resource, why]) => `| \`${resource}\` | ${why} |`),
    '| `managed_certificates` | The server gets them from an ACME server. |',
    '',
    'Everything else that the API lists is state and no configuration: tunnels, sessions, deliveries, nodes.',
    '',
    '## Exit codes',
    '',
    '| command | 0 | 1 | 2 | 3 | 4 |',
    '|---|---|---|---|---|---|',
    '| `validate` | valid | invalid | wrong usage | – | – |',
    '| `export` | written | rejected by the API | wrong usage | unreachable, or changed while it was read | – |',
    '| `plan` | nothing would change | failed | wrong usage | changed while it was read | something would change |',
    '| `apply` | applied, or nothing to do | failed, or answered with no | wrong usage | somebody else changed the configuration | – |',
    '',
    'An object is replaced if its kind changes, or a field that cannot be changed, such as the action of an IP policy rule. Its id then changes.',
  ].join('\n')}\n`;
}
