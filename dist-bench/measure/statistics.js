/** The few figures that sum up several measurements of one thing. */
export function spread(values) {
    return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}
export function median(values) {
    const sorted = values.toSorted((a, b) => a - b);
    const middle = sorted.length / 2;
    return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}
export function regression(points) {
    const n = points.length;
    const meanX = points.reduce((sum, [x]) => sum + x, 0) / n;
    const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n;
    const squares = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
    const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / squares;
    const rest = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
    return { slope, slopeError: Math.sqrt(rest / Math.max(1, n - 2) / squares) };
}
