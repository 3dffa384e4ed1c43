/** Draws the rooms in docs/architecture.md from dependency-cruiser's report on standard input: `npm run rooms`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { productRooms } from './product-rooms';

/** What is read of dependency-cruiser's JSON report. */
export interface ImportReport {
  readonly modules: readonly {
    readonly source: string;
    readonly dependencies: readonly { readonly resolved: string }[];
  }[];
}

type Edges = ReadonlyMap<string, ReadonlySet<string>>;

const picturedFile = 'docs/architecture.md';
/** Folders whose rooms have a picture of their own. */
const zooms = ['workflows/core', 'activities'];
const product = new RegExp(`^(${productRooms.join('|')})/`);

/** The room of a product file in the picture of everything. */
function topRoomOf(file: string): string | undefined {
  if (!product.test(file)) return undefined;
  if (file.startsWith('workflows/core/')) return 'workflows/core';
  return file.startsWith('workers/cli') ? 'workers/cli' : file.split('/')[0];
}

/** The folder in `zoom` that a file belongs to; a file of its own is either composed of folders or shared by them. */
function folderOf(file: string, zoom: string, composed: ReadonlySet<string>): string | undefined {
  if (!file.startsWith(`${zoom}/`)) return undefined;
  const [folder = '', ...rest] = file.slice(zoom.length + 1).split('/');
  if (rest.length > 0) return folder;
  return composed.has(file) ? 'files that compose the rooms' : 'files that the rooms share';
}

/** The files of `zoom` itself that import one of its folders. */
function composedFiles({ modules }: ImportReport, zoom: string): ReadonlySet<string> {
  const isInFolder = (file: string): boolean =>
    file.startsWith(`${zoom}/`) && file.slice(zoom.length + 1).includes('/');
  return new Set(
    modules
      .filter(({ dependencies }) => dependencies.some(({ resolved }) => isInFolder(resolved)))
      .map(({ source }) => source),
  );
}

function edgesBetweenRooms(report: ImportReport, zoom: string | undefined): Edges {
  const composed = zoom === undefined ? new Set<string>() : composedFiles(report, zoom);
  const roomOf = (file: string): string | undefined =>
    zoom === undefined ? topRoomOf(file) : folderOf(file, zoom, composed);
  const edges = new Map<string, Set<string>>();
  for (const { source, dependencies } of report.modules) {
    const from = roomOf(source);
    if (from === undefined) continue;
    const targets = edges.get(from) ?? new Set<string>();
    edges.set(from, targets);
    for (const { resolved } of dependencies) {
      const to = roomOf(resolved);
      if (to !== undefined && to !== from) targets.add(to);
    }
  }
  return edges;
}

/** True if one room still leads to the other without the arrow between them. */
function leadsAround(edges: Edges, from: string, to: string): boolean {
  const waiting = [...(edges.get(from) ?? [])].filter((room) => room !== to);
  const seen = new Set([from, ...waiting]);
  for (const room of waiting) {
    for (const next of edges.get(room) ?? []) {
      if (next === to) return true;
      if (!seen.has(next)) waiting.push(next);
      seen.add(next);
    }
  }
  return false;
}

/** The arrows that remain when each one is left out that follows from the others. */
function fewestArrows(edges: Edges): readonly (readonly [string, string])[] {
  const left = new Map([...edges].map(([room, targets]) => [room, new Set(targets)]));
  for (const from of [...left.keys()].sort()) {
    for (const to of [...(left.get(from) ?? [])].sort()) {
      if (leadsAround(left, from, to)) left.get(from)?.delete(to);
    }
  }
  return [...left]
    .flatMap(([from, targets]) => [...targets].map((to) => [from, to] as const))
    .sort(([a, b], [c, d]) => a.localeCompare(c) || b.localeCompare(d));
}

function drawn(edges: Edges): string {
  const rooms = [...new Set([...edges.keys(), ...[...edges.values()].flatMap((to) => [...to])])];
  rooms.sort();
  const idOf = (room: string): string => `r${rooms.indexOf(room)}`;
  return [
    'flowchart TD',
    ...rooms.map((room) => `  ${idOf(room)}["${room}"]`),
    ...fewestArrows(edges).map(([from, to]) => `  ${idOf(from)} --> ${idOf(to)}`),
  ].join('\n');
}

/** The document with all its pictures drawn again. Errors: a picture has no place in the document. */
export function withPictures(document: string, report: ImportReport): string {
  return [undefined, ...zooms].reduce<string>((text, zoom) => {
    const name = zoom ?? 'all';
    const place = new RegExp(`(<!-- rooms: ${name} -->)[\\s\\S]*?(<!-- end of rooms -->)`);
    if (!place.test(text))
      throw new Error(`${picturedFile} has no place for the rooms of ${name}.`);
    const picture = drawn(edgesBetweenRooms(report, zoom));
    return text.replace(place, `$1\n\n\`\`\`mermaid\n${picture}\n\`\`\`\n\n$2`);
  }, document);
}

if (require.main === module) {
  const report = JSON.parse(readFileSync(0, 'utf8')) as ImportReport;
  writeFileSync(picturedFile, withPictures(readFileSync(picturedFile, 'utf8'), report));
}
