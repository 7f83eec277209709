interface SkeletonProps {
  shape: 'shell' | 'page' | 'chart' | 'table' | 'tile' | 'calendar' | 'code' | 'text'
}

/** The shape of what is to come. It moves nothing when that is there. */
export const Skeleton = ({ shape }: SkeletonProps) => (
  <div className={`skeleton skeleton-${shape}`} role="status" aria-label="Loading" />
)
