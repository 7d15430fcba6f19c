import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { productFiles, projectRoot } from '../../test/architecture/source-files.ts';

export const name = 'tools/generators/rooms.ts';

const PAGE = 'ARCHITECTURE.md';
const WIDTH = 84;
const START = '<!-- Drawn from the imports in src by "npm run generate". Do not edit. -->\n```\n';
const END = '```\n';

type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/** The picture of the rooms of `src`, from the imports of their files. */
export async function generate(): Promise<Map<string, string>> {
  const page = await readFile(join(projectRoot, PAGE), 'utf8');
  const start = page.indexOf(START);
  if (start === -1) throw new Error(`${PAGE} has no place for the picture of the rooms: it lacks the lines\n${START}`);
  const from = start + START.length;
  const to = page.indexOf(END, from);
  const picture = pictureOf(importsBetweenRooms());
  return new Map([[PAGE, `${page.slice(0, from)}${picture}\n${page.slice(to)}`]]);
}

/** Types count. */
function importsBetweenRooms(): Imports {
  const rooms = new Map<string, Set<string>>();
  for (const { path, imports } of productFiles()) {
    const room = roomOf(path);
    const known = rooms.get(room) ?? new Set();
    rooms.set(room, known);
    for (const { target, isOwn } of imports) if (isOwn && roomOf(target) !== room) known.add(roomOf(target));
  }
  return rooms;
}

export function roomOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** A row of boxes for each floor. A room stands right below the lowest one that imports it. */
function pictureOf(rooms: Imports): string {
  const floors = floorsOf(rooms);
  const order = floors.flat();
  const rows = floors.map((floor) => {
    const edges = edgesOf(floor.length);
    const boxes = floor.map((room, at) => {
      const below = order.filter((other) => rooms.get(room)?.has(other) === true);
      return [
        room,
        ...wrapped(below.length === 0 ? 'imports nothing' : `▶ ${below.join(' ')}`, widthOf(edges, at) - 2),
      ];
    });
    return { edges, boxes, height: Math.max(...boxes.map((box) => box.length)) };
  });
  const lines = rows.flatMap(({ edges, boxes, height }, at) => [
    wall(rows[at - 1]?.edges ?? [], edges),
    ...Array.from(
      { length: height },
      (_, line) => `│${boxes.map((box, index) => centred(box[line] ?? '', widthOf(edges, index))).join('│')}│`,
    ),
  ]);
  return [...lines, wall(rows.at(-1)?.edges ?? [], [])].join('\n');
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function floorsOf(rooms: Imports): readonly (readonly string[])[] {
  const floors: string[][] = [];
  const left = new Set(rooms.keys());
  while (left.size > 0) {
    const floor = [...left].filter((room) => ![...left].some((other) => rooms.get(other)?.has(room) === true)).sort();
    if (floor.length === 0) throw new Error(`rooms of src import each other in a circle: ${[...left].join(', ')}`);
    for (const room of floor) left.delete(room);
    floors.push(floor);
  }
  return floors;
}

/** Columns of the walls of a floor, outer ones included. */
function edgesOf(count: number): readonly number[] {
  return Array.from({ length: count + 1 }, (_, at) => Math.round((at * (WIDTH - 1)) / count));
}

/** Between the walls of a box. */
function widthOf(edges: readonly number[], at: number): number {
  return (edges[at + 1] ?? 0) - (edges[at] ?? 0) - 1;
}

function centred(text: string, width: number): string {
  const before = Math.floor((width - text.length) / 2);
  return `${' '.repeat(Math.max(0, before))}${text}`.padEnd(width);
}

function wall(above: readonly number[], below: readonly number[]): string {
  return Array.from({ length: WIDTH }, (_, column) => {
    const [up, down] = [above.includes(column), below.includes(column)];
    const corner = column === 0 ? '┌├└' : column === WIDTH - 1 ? '┐┤┘' : null;
    if (corner !== null) return corner[up ? (down ? 1 : 2) : 0];
    if (up && down) return '┼';
    return up ? '┴' : down ? '┬' : '─';
  }).join('');
}
