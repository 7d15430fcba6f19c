import { PageHead } from '../../components/page-head.tsx';
import { PublishLink } from '../publish/publish-link.tsx';
import { Certificates } from './certificates.tsx';
import { Nodes } from './nodes.tsx';
import { Problems } from './problems.tsx';
import { SinceLastVisit } from './since-last-visit.tsx';
import { SitesNow } from './sites-now.tsx';
import { Tiles } from './tiles.tsx';
import { TrafficHour } from './traffic-hour.tsx';
import { WhoCame } from './who-came.tsx';

/** In the order of the questions: are my sites up, what is wrong, who came, what changed. Nodes and counters follow. */
export function OverviewPage() {
  return (
    <>
      <PageHead title="Overview">
        <PublishLink />
      </PageHead>
      <SitesNow />
      <Problems />
      <div class="grid-2">
        <WhoCame />
        <SinceLastVisit />
      </div>
      <TrafficHour />
      <Tiles />
      <div class="grid-2">
        <Nodes />
        <Certificates />
      </div>
    </>
  );
}
