import type { PeerLinks } from '../links/peer-links.ts';
import { DIRECTORY_FEED } from './feed-lines.ts';
import { FollowedNode } from './followed-node.ts';
import type { RefusalLog } from './refusal-log.ts';
import type { TunnelDirectory } from './tunnel-directory.ts';

/** Follows the directory feed of every linked node. The result tells whether all announcements of a node are known. */
export function followNodes(
  links: Pick<PeerLinks, 'followFeeds' | 'onDown'>,
  directory: TunnelDirectory,
  log: RefusalLog,
): (nodeId: string) => boolean {
  const nodes = new Map<string, FollowedNode>();
  links.followFeeds(DIRECTORY_FEED, (nodeId, feed) => {
    const known = nodes.get(nodeId) ?? new FollowedNode(nodeId, directory, log);
    nodes.set(nodeId, known);
    return known.open(feed);
  });
  links.onDown(({ nodeId }) => {
    nodes.get(nodeId)?.lost();
    nodes.delete(nodeId);
  });
  return (nodeId) => nodes.get(nodeId)?.isComplete === true;
}
