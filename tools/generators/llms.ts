import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path/posix';
import { fileURLToPath } from 'node:url';

export const name = 'llms.txt';

const INTRODUCTION = `# Postern

> Self-hosted ingress: one program that terminates HTTPS for your hosts, decides who may pass (passkeys, OpenID Connect, access rules, client certificates), and forwards requests to services, also behind NAT through tunnels. One HTTP/JSON API, compatible with ngrok's retired API of HTTPS edges, manages it.

This file lists the documentation for programs that read it. Paths are relative to it.

## Start

- [README](README.md): what Postern is, the first commands, a comparison
- [openapi.json](openapi.json): the API as OpenAPI 3.1
- [The interface of the retired service](spec/interface.md): the modules, tunnels and event sources that the API is compatible with
- [SECURITY.md](SECURITY.md): what Postern defends against, and how to report a vulnerability
- [ARCHITECTURE.md](ARCHITECTURE.md): the parts of the program, and where to add something
- [CONTRIBUTING.md](CONTRIBUTING.md): how to work on Postern
- [CHANGELOG.md](CHANGELOG.md): what changed
`;

/** The sections of docs/README.md, as a list of links (llmstxt.org). */
export async function generate(): Promise<Map<string, string>> {
  const index = await readFile(fileURLToPath(new URL('../../docs/README.md', import.meta.url)), 'utf8');
  const listed = new Set(Array.from(INTRODUCTION.matchAll(/\]\(([^)]+)\)/g), ([, path = '']) => path));
  const sections = index
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.split('\n');
      const items = lines.flatMap((line) => itemsOf(line).filter(({ path }) => !listed.has(path) && listed.add(path)));
      return { title, items };
    });
  const texts = sections
    .filter(({ items }) => items.length > 0)
    .map(({ title, items }) => `## ${title}\n\n${items.map((item) => item.text).join('\n')}\n`);
  return new Map([['llms.txt', [INTRODUCTION, ...texts].join('\n')]]);
}

interface Item {
  readonly path: string;
  readonly text: string;
}

/** A line that describes one page gives its description; otherwise the names of its links must do. */
function itemsOf(line: string): readonly Item[] {
  const links = Array.from(line.matchAll(/\[`?([^\]`]+)`?\]\(([^)#\s]+\.md)\)/g));
  const [, inRow, inList] =
    /^\| *\[[^\]]+\]\([^)]+\) *\| *(.*?) *\|$|^(?:\d+\.|-) \[[^\]]+\]\([^)]+\): (.*)$/.exec(line) ?? [];
  const description = links.length === 1 ? (inRow ?? inList?.replace(/\.$/, '')) : undefined;
  return links.map(([, label = '', target = '']) => {
    const path = normalize(join('docs', target));
    return { path, text: `- [${label}](${path})${description === undefined ? '' : `: ${description}`}` };
  });
}
