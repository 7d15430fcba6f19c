import { PageHead } from '../../components/page-head.tsx';
import { PublishLink } from '../publish/publish-link.tsx';
import { BusyRoutes } from './busy-routes.tsx';
import { Certificates } from './certificates.tsx';
import { Nodes } from './nodes.tsx';
import { Problems } from './problems.tsx';
import { Tiles } from './tiles.tsx';
import { TrafficHour } from './traffic-hour.tsx';

export function OverviewPage() {
  return (
    <>
      <PageHead title="Overview">
        <PublishLink />
      </PageHead>
      <Tiles />
      <Problems />
      <TrafficHour />
      <div class="grid-2">
        <Nodes />
        <BusyRoutes />
        <Certificates />
      </div>
    </>
  );
}
