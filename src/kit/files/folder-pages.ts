import { type Dir, opendir } from 'node:fs';
import { promisify } from 'node:util';
import type { HeaderList } from '../http/header-values.ts';
import { escapedHtml, PAGE_STYLE_SOURCE, plainPage } from '../http/plain-page.ts';
import type { FoundFile } from './open-file.ts';

const openDirectory = promisify(opendir) as unknown as (path: string, options: { bufferSize: number }) => Promise<Dir>;

/** Every response of a folder has these. */
export const NO_SNIFFING: HeaderList = ['x-content-type-options', 'nosniff'];

const PAGE: HeaderList = [
  ...['content-type', 'text/html; charset=utf-8'],
  ...['content-security-policy', `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; base-uri 'none'`],
  ...NO_SNIFFING,
];

export interface FolderPage {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

function page(status: number, title: string, body: string, headers: HeaderList = []): FolderPage {
  return { status, headers: [...PAGE, ...headers], body: Buffer.from(plainPage({ title, body })) };
}

export const NOT_FOUND = page(404, 'Not found', '<p>There is no page at this address.</p>');
export const FORBIDDEN = page(403, 'Forbidden', '<p>The server is not allowed to read this file.</p>');
export const BAD_PATH = page(400, 'Bad request', '<p>The path of this address is not written in a usual form.</p>');
export const NOT_ALLOWED = page(405, 'Method not allowed', '<p>Files can be read only: with GET or HEAD.</p>', [
  ...['allow', 'GET, HEAD'],
]);

/**
 * RFC 9110 §10.2.2: relative to the requested address, so that it cannot lead to another host, whatever the name is.
 */
export function toFolder(path: string, query: string): FolderPage {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const headers = ['location', `./${name}/${query}`, ...NO_SNIFFING];
  return { status: 301, headers, body: Buffer.alloc(0) };
}

/** More are not shown: the page would take memory, and nobody reads it. */
const MAX_LISTED = 5_000;
const READ_AT_ONCE = 256;

/** A page that lists a folder, without hidden names and links. */
export async function listingPage(folder: FoundFile, path: string): Promise<FolderPage> {
  const names: string[] = [];
  let isCut = false;
  const place = process.platform === 'linux' ? `/proc/self/fd/${folder.fd}` : folder.realPath;
  for await (const entry of await openDirectory(place, { bufferSize: READ_AT_ONCE })) {
    if (entry.name.startsWith('.') || !(entry.isFile() || entry.isDirectory())) continue;
    if (names.length === MAX_LISTED) {
      isCut = true;
      break;
    }
    names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
  }
  const shown = names.sort(foldersFirst).map(linkTo);
  const up = path === '/' ? [] : ['<a href="../">../</a>'];
  const rest = isCut ? [`The folder has more than ${MAX_LISTED} files: the rest is not shown.`] : [];
  const lines = [...up, ...shown, ...rest].map((line) => `<p>${line}</p>`).join('\n');
  return page(200, `Files in ${decodeURIComponent(path)}`, lines, ['cache-control', 'no-cache']);
}

function foldersFirst(one: string, other: string): number {
  const [isOne, isOther] = [one.endsWith('/'), other.endsWith('/')];
  if (isOne !== isOther) return isOne ? -1 : 1;
  return one < other ? -1 : 1;
}

function linkTo(name: string): string {
  const isFolder = name.endsWith('/');
  const encoded = encodeURIComponent((isFolder ? name.slice(0, -1) : name).toWellFormed());
  return `<a href="./${escapedHtml(encoded)}${isFolder ? '/' : ''}">${escapedHtml(name)}</a>`;
}
